// SPDX-License-Identifier: MIT
//
// Models of version 2 whose data lies in several files: reader::open of a root finds them. SPEC.md section 13.9.
#ifndef ZTENSOR_SHARDS_HPP
#define ZTENSOR_SHARDS_HPP

#include <ztensor/reader.hpp>

#endif
