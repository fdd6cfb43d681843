#include "cli/input.h"

#include <unistd.h>

#include "base/file.h"
#include "base/units.h"

namespace smoe::cli {

Result<Input> read_input(const std::optional<std::string>& file, Signals& signals) {
  const Signals::AtOnce at_once(signals);
  Input input;
  if (file) {
    input.name = *file;
    SMOE_TRY(input.text, read_any_file(*file, kGiB));
  } else {
    input.name = "stdin";
    SMOE_TRY(input.text, read_stream(STDIN_FILENO, input.name, kGiB));
  }
  return input;
}

}  // namespace smoe::cli
