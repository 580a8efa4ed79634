// SPDX-License-Identifier: MIT
//
// What kind of file it is, by its first and last bytes.
#ifndef ZTENSOR_DETAIL_IMPORT_SNIFF_HPP
#define ZTENSOR_DETAIL_IMPORT_SNIFF_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/zip.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- hdf5 signature
//
// What shows that a file is HDF5, or an archive of Keras with HDF5 in it. Knows nothing of libhdf5.

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

// -- sniff
//
// Which importer a file is for, judged by its first bytes, and by its name where these say nothing.

enum class foreign_kind_id : std::uint8_t {
    none, ///< a .zt file, or nothing that is imported
    safetensors,
    gguf,
    npy,
    zip,       ///< npz or PyTorch: the entries tell
    pt_legacy, ///< of PyTorch, from before archives
    pt_tar,    ///< likewise, from before version 0.2
    onnx,
    hdf5,
};

[[nodiscard]] inline bool ends_with_ignoring_case(std::string_view text, std::string_view end) noexcept {
    return text.size() >= end.size() && starts_with_ignoring_case(text.substr(text.size() - end.size()), end);
}

/// What macOS keeps beside a file where the file system has no place for it: it is called "._" and as the file.
[[nodiscard]] inline bool is_of_macos(std::string_view path) noexcept {
    const std::string_view name = path.substr(path.find_last_of('/') + 1);
    return name.substr(0, 2) == "._";
}

/// A ModelProto as every writer starts it: the version of its format in one byte, then the next field that has a
/// number of one digit.
[[nodiscard]] inline bool may_be_onnx(bytes_view head) noexcept {
    constexpr std::byte ir_version_field{0x08};
    constexpr unsigned newest_ir_version = 63;
    if (head.size() < 4 || head[0] != ir_version_field) {
        return false;
    }
    const auto version = std::to_integer<unsigned>(head[1]);
    const auto next = std::to_integer<unsigned>(head[2]);
    const bool has_model_field = next == 0x12 || next == 0x1a || next == 0x22 || next == 0x28 || next == 0x32 ||
                                 next == 0x3a || next == 0x42 || next == 0x72;
    return version != 0 && version <= newest_ir_version && has_model_field;
}

/// Such as a Git LFS pointer or an HTML page in place of the file. Signatures that damage may look like don't count.
[[nodiscard]] inline bool is_something_else(std::string_view text) noexcept {
    constexpr std::size_t certain_bytes = 4;
    for (const signature& each : foreign_signatures) {
        if (each.start.size() >= certain_bytes && starts_with_ignoring_case(text, each.start)) {
            return true;
        }
    }
    return false;
}

/// Of any generation that this library reads.
[[nodiscard]] inline bool is_zt(bytes_view head) noexcept {
    const std::string_view magic = as_text(head).substr(0, magic_bytes);
    return magic == magic_1 || magic == magic_0_1 || magic == magic_2;
}

/// A pickle of PyTorch's magic number, of any protocol.
[[nodiscard]] inline bool is_pt_legacy(std::string_view text) noexcept {
    constexpr std::string_view magic = "l\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
    constexpr std::string_view in_digits = "L119547037146038801333356L\n.";
    constexpr std::size_t most_bytes_in_front = 13; // of the opcodes for a protocol, a frame and a long number
    const std::size_t at = text.find(magic);
    return text.substr(0, in_digits.size()) == in_digits ||
           (at != std::string_view::npos && at >= 2 && at <= most_bytes_in_front && text[at - 1] == '\x0a' &&
            text[at - 2] == '\x8a');
}

/// `head` is the first head_bytes of a file of `file_bytes` bytes, or all of it.
[[nodiscard]] ZTENSOR_COLD inline foreign_kind_id sniff(bytes_view head, std::uint64_t file_bytes,
                                                        std::string_view path) noexcept {
    const std::string_view text = as_text(head);
    const auto starts_with = [&](std::string_view magic) { return text.substr(0, magic.size()) == magic; };
    if (is_zt(head)) {
        return foreign_kind_id::none;
    }
    if (starts_with("GGUF")) {
        return foreign_kind_id::gguf;
    }
    if (starts_with("\x93NUMPY")) {
        return foreign_kind_id::npy;
    }
    if (starts_with("PK\x03\x04") || starts_with("PK\x05\x06")) {
        return foreign_kind_id::zip;
    }
    if (is_pt_legacy(text)) {
        return foreign_kind_id::pt_legacy;
    }
    constexpr std::string_view first_of_tar("sys_info\0", 9);
    if (starts_with(first_of_tar)) {
        return foreign_kind_id::pt_tar;
    }
    if (head.size() > size_field_bytes && text[size_field_bytes] == '{' &&
        load_little(head.data(), size_field_bytes) <= file_bytes) {
        return foreign_kind_id::safetensors;
    }
    if (is_something_else(text)) { // which the ordinary reader names
        return foreign_kind_id::none;
    }
    if (ends_with_ignoring_case(path, ".safetensors")) { // damaged, and its importer says how
        return foreign_kind_id::safetensors;
    }
    return ends_with_ignoring_case(path, ".onnx") || may_be_onnx(head) ? foreign_kind_id::onnx : foreign_kind_id::none;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
