// SPDX-License-Identifier: MIT
//
// Computing digests of bytes, piece by piece, to the text that the format writes. SPEC.md section 7.
#ifndef ZTENSOR_DIGEST_HPP
#define ZTENSOR_DIGEST_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/format.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {
struct digest_access;
} // namespace detail

/// Computes a digest piece by piece. With digest::none it does nothing. Cheap to copy: a copy goes on from there.
class digester {
public:
    explicit digester(digest algorithm) noexcept;

    void update(bytes_argument bytes) noexcept;

    /// As the format writes it: "crc32c:0x" and 8 upper-case digits, "sha256:" and 64 lower-case ones, "xxh3:" and 16
    /// lower-case ones; of crc32, which it does not write, "crc32:" and 8 upper-case ones; "" for none, and for XXH3
    /// where the library was built without xxHash: see can_compute().
    [[nodiscard]] std::string text() const;

private:
    friend struct detail::digest_access;

    digest algorithm_;
    detail::digest_memory memory_;
};

namespace detail {

/// For sums that are combined from those of parts.
struct digest_access {
    static void set_crc32c(digester& of, uint32_t sum) noexcept { of.memory_.words[0] = sum; }
};

} // namespace detail

/// False for XXH3 where the library was built without xxHash.
[[nodiscard]] bool can_compute(digest algorithm) noexcept;

/// The digest of `bytes`, as the format writes it.
[[nodiscard]] std::string digest_text(digest algorithm, bytes_argument bytes);

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/codec/digest_definitions.hpp>
#endif

#endif
