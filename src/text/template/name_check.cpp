#include "text/template/name_check.h"

#include "text/template/routine.h"

namespace smoe::jinja {

Status NameCheck::verify(std::string_view template_name) const {
  for (const Use& call : calls_) {
    if (set_names_.contains(call.name) || find_function(call.name) != nullptr) continue;
    return error_at(template_name, call.at, Code::kUnsupported,
                    "no function is named '" + call.name + "'");
  }
  for (const Use& method : methods_) {
    if (is_method_name(method.name) || set_attributes_.contains(method.name)) continue;
    return error_at(template_name, method.at, Code::kUnsupported,
                    "no type has a method '" + method.name + "'");
  }
  return {};
}

}  // namespace smoe::jinja
