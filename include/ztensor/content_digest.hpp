// SPDX-License-Identifier: MIT
//
// What a model of version 2 is, as one digest, however its file is laid out. SPEC.md section 13.
#ifndef ZTENSOR_CONTENT_DIGEST_HPP
#define ZTENSOR_CONTENT_DIGEST_HPP

#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/vocabulary.hpp>

#include <string>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// The content digest of a file of version 2: "xxh3:" or "sha256:" and lower-case digits. It is that of names, shapes,
/// layouts, attributes, types and of the digest of every component, which are of decoded bytes: the same tensors have
/// the same one at any alignment, in any order, raw or compressed, in one file or in many, as long as their components
/// have digests of the same algorithm. No blob is read, nor any shard.
///
/// Errors: invalid_argument (another algorithm); not_expressible (a file before version 2, a data shard, or a component
/// without a digest: then there is none); unsupported_digest (a build without xxHash); out_of_memory.
result<std::string> content_digest(const reader& of, digest algorithm = digest::xxh3);

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/read/content_digest_definitions.hpp>
#endif

#endif
