// SPDX-License-Identifier: MIT
//
// What shows that a file is HDF5, or an archive of Keras with HDF5 in it. Knows nothing of libhdf5.
#ifndef ZTENSOR_DETAIL_FOREIGN_HDF5_SIGNATURE_HPP
#define ZTENSOR_DETAIL_FOREIGN_HDF5_SIGNATURE_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/foreign/zip.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline constexpr std::string_view hdf5_signature = "\x89HDF\r\n\x1a\n";

/// The signature stands at 0, or behind a block of the user's, such as that of MATLAB, of 512 bytes or a power of two
/// times that. Errors: what the source says.
[[nodiscard]] ZTENSOR_COLD inline result<bool> has_hdf5_signature(const byte_source& source) {
    constexpr std::uint64_t least_user_block = 512;
    std::byte found[hdf5_signature.size()];
    const std::uint64_t size = source.size();
    for (std::uint64_t at = 0; size >= sizeof found && at <= size - sizeof found;) {
        ZTENSOR_TRY(source.read_at(at, span<std::byte>(found)));
        if (as_text(bytes_view(found)) == hdf5_signature) {
            return true;
        }
        if (at > size / 2) {
            break;
        }
        at = at == 0 ? least_user_block : 2 * at;
    }
    return false;
}

/// The weights of an archive that Keras 3 wrote; null of another archive.
[[nodiscard]] inline const zip_entry* find_keras_weights(const zip_directory& directory) noexcept {
    for (const zip_entry& each : directory.entries()) {
        if (each.name == "model.weights.h5") {
            return &each;
        }
    }
    return nullptr;
}

[[nodiscard]] ZTENSOR_COLD inline error refuse_hdf5(bool is_keras) {
    constexpr const char* reads = "<ztensor/hdf5.hpp> reads it through libhdf5: by open_hdf5(), or by open_any() with "
                                  "read_options::hdf5()";
    return fail(errc::foreign_file, "not a zTensor file: it is {}; {}",
                {is_keras ? "a Keras archive, whose weights are an HDF5 file" : "an HDF5 file", reads});
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
