// SPDX-License-Identifier: MIT
//
// The other file of global_reader.cpp.
#include <ztensor/shards.hpp>
