// SPDX-License-Identifier: MIT
//
// A file of version 2 around any bytes as its manifest, with the right hash: else nothing of them would be read.
#ifndef ZTENSOR_TESTS_FUZZ_FILE_AROUND_2_HPP
#define ZTENSOR_TESTS_FUZZ_FILE_AROUND_2_HPP

#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace fuzzing {

/// Zeros stand where its blobs are, up to `blobs_end`.
[[nodiscard]] inline std::vector<std::byte> file_around_2(ztensor::bytes_view manifest, std::uint64_t blobs_end) {
    namespace detail = ztensor::detail;
    std::vector<std::byte> file(static_cast<std::size_t>(blobs_end));
    std::memcpy(file.data(), detail::magic_2.data(), detail::magic_2.size());
    file.insert(file.end(), manifest.begin(), manifest.end());
    const auto footer = detail::encode_footer_2({blobs_end, manifest.size(), detail::xxh3_of(manifest)});
    file.insert(file.end(), footer.begin(), footer.end());
    return file;
}

} // namespace fuzzing

#endif
