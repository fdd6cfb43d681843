// The families, each a table in the .cpp of its name.
#pragma once

#include "model/family.h"

namespace smoe {

extern const Family kDeepseek;
extern const Family kMixtral;
extern const Family kOlmoe;
extern const Family kQwen2Moe;
extern const Family kQwen3Moe;

}  // namespace smoe
