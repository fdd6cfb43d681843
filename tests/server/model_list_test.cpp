#include "server/model_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace smoe::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ModelList : public ::testing::Test {
 protected:
  std::string put(const std::string& name) const {
    const auto path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "x";
    return path.string();
  }
  std::string root() const { return folder_.path().string(); }

  static std::vector<std::string> ids_of(const std::vector<std::string>& paths) {
    const auto models = find_models(paths);
    std::vector<std::string> ids;
    if (!models) return {models.error().message};
    for (const ModelEntry& model : *models) ids.push_back(model.id);
    return ids;
  }

 private:
  test::TempDir folder_;
};

TEST_F(ModelList, HasTheFoldersAndGgufFilesBelowAFolder) {
  put("owl/scout.safetensors");
  put("owl/part.gguf");
  put("birds/jay.gguf");
  put("birds/readme.txt");
  put("fox-00001-of-00002.gguf");
  put("fox-00002-of-00002.gguf");
  EXPECT_THAT(ids_of({root()}), ElementsAre("birds/jay", "fox", "owl"));
}

TEST_F(ModelList, HasAModelThatIsNamed) {
  put("owl/scout.safetensors");
  const std::string file = put("jay.gguf");
  EXPECT_THAT(ids_of({file, root() + "/owl/"}), ElementsAre("jay", "owl"));
}

TEST_F(ModelList, RefusesNothingAndTwoOfOneName) {
  EXPECT_THAT(ids_of({root()}), ElementsAre(HasSubstr("no GGUF file")));
  const std::string first = put("a/jay.gguf");
  const std::string second = put("b/jay.gguf");
  EXPECT_THAT(ids_of({first, second}), ElementsAre(HasSubstr("the same name, 'jay'")));
}

}  // namespace
}  // namespace smoe::server
