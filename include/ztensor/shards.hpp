// SPDX-License-Identifier: MIT
//
// Models of version 2 whose data lies in several files. SPEC.md section 13.9.
#ifndef ZTENSOR_SHARDS_HPP
#define ZTENSOR_SHARDS_HPP

/// A program that includes this in one of its files lets all its readers find shards: `reader::open` of a root then
/// finds them beside it, as read_options::shards() says. ztensor.hpp, foreign.hpp and reader_set.hpp include it, and
/// the compiled library has it. Where object files have the format ELF (Linux, the BSDs), other header-only programs do
/// not carry its code: such a root is errc::not_built_in, and all other files open. Elsewhere (Windows, macOS, WASI)
/// reader.hpp includes the code, and every program finds shards. A shard that is a symbolic link may lead to where
/// read_options::follow_links() says.

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/read/shards_definitions.hpp>
#endif

#endif
