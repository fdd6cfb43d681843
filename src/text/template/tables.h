// The tables of routines, each beside its routines.
#pragma once

#include <span>

#include "text/template/routine.h"

namespace smoe::jinja {

std::span<const Routine> text_filters();
std::span<const Routine> sequence_filters();
std::span<const Routine> number_filters();
std::span<const Routine> tests();
std::span<const Routine> functions();
std::span<const Routine> string_methods();
std::span<const Routine> dict_methods();
std::span<const Routine> sequence_methods();
std::span<const Routine> loop_methods();
std::span<const Routine> number_methods();

}  // namespace smoe::jinja
