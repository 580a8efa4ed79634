// SPDX-License-Identifier: MIT
//
// Models of version 2 whose data lies in several files. SPEC.md section 13.9.
#ifndef ZTENSOR_SHARDS_HPP
#define ZTENSOR_SHARDS_HPP

/// Whoever includes this in one file of a program lets all its readers find shards: `reader::open` of a root then finds
/// them beside it, as read_options::shards() says. ztensor.hpp, foreign.hpp and reader_set.hpp include it,
/// and the compiled library has it. In other programs, which would carry the code for nothing, such a root is
/// errc::not_built_in; what is no root opens as ever. A shard that is a symbolic link may lead to where
/// read_options::follow_links() says.

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/read/shards_definitions.hpp>
#endif

#endif
