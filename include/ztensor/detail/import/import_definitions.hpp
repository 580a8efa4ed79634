// SPDX-License-Identifier: MIT
//
// First bytes -> the importer that knows them. Defines how import.hpp opens.
#ifndef ZTENSOR_DETAIL_IMPORT_IMPORT_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_IMPORT_IMPORT_DEFINITIONS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/gguf.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/npy.hpp>
#include <ztensor/detail/import/onnx.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/read/file_index.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/import.hpp>
#include <ztensor/io.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- sniff
//
// Which importer a file is for, judged by its first bytes, and by its name where these say nothing.

/// A ModelProto as every writer starts it: the version of its format in one byte, then the next field that has a
/// number of one digit.
[[nodiscard]] inline bool may_be_onnx(bytes_view head) noexcept {
    constexpr byte ir_version_field{0x08};
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

/// What other first bytes than a signature tell; nullptr if they tell nothing.
[[nodiscard]] ZTENSOR_COLD inline const char* foreign_kind_within(string_view head) noexcept {
    constexpr size_t flatbuffer_name_at = 4, tar_name_at = 257, least_zeros = 16;
    if (head.substr((std::min)(head.size(), flatbuffer_name_at), 4) == "TFL3") {
        return "a TensorFlow Lite (LiteRT) model: convert the model that it was made of";
    }
    if (head.size() > tar_name_at && head.substr(tar_name_at, 5) == "ustar") {
        return "a tar archive, such as a .nemo file: unpack it, and open the weights in it";
    }
    if (head.size() >= least_zeros && head.find_first_not_of('\0') == std::string_view::npos) {
        return "a file that starts with nothing but zero bytes, as a download leaves that did not come to its end: "
               "fetch it again";
    }
    // A SavedModel: its version, which is 1, and a message that starts with one, where an ONNX model has text.
    constexpr string_view version_1 = "\x08\x01\x12";
    size_t at = version_1.size();
    while (at < head.size() && (static_cast<unsigned char>(head[at]) & 0x80) != 0) {
        ++at;
    }
    if (head.substr(0, version_1.size()) == version_1 && head.substr((std::min)(at + 1, head.size()), 1) == "\x0a") {
        return "a SavedModel of TensorFlow, whose weights are in other files: save them by numpy.savez";
    }
    return nullptr;
}

/// Such as a Git LFS pointer or an HTML page in place of the file. Signatures that damage may look like don't count.
[[nodiscard]] inline bool is_something_else(string_view text) noexcept {
    constexpr size_t certain_bytes = 4;
    const auto is_certain = [&](const signature& each) {
        return each.start.size() >= certain_bytes && starts_with_ignoring_case(text, each.start);
    };
    return foreign_kind_within(text) != nullptr ||
           std::any_of(std::begin(foreign_signatures), std::end(foreign_signatures), is_certain);
}

/// Of any version that this library reads.
[[nodiscard]] inline bool is_zt(bytes_view head) noexcept {
    const string_view magic = as_text(head).substr(0, magic_bytes);
    return magic == magic_1 || magic == magic_0_1 || magic == magic_2;
}

/// A pickle of PyTorch's magic number, of any protocol.
[[nodiscard]] inline bool is_pt_legacy(string_view text) noexcept {
    constexpr string_view magic = "l\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
    constexpr string_view in_digits = "L119547037146038801333356L\n.";
    constexpr size_t most_bytes_in_front = 13; // of the opcodes for a protocol, a frame and a long number
    const size_t at = text.find(magic);
    return text.substr(0, in_digits.size()) == in_digits ||
           (at != std::string_view::npos && at >= 2 && at <= most_bytes_in_front && text[at - 1] == '\x0a' &&
            text[at - 2] == '\x8a');
}

/// A pickle says its protocol first, but for the oldest two, which are known by the names of files.
[[nodiscard]] inline bool is_pickle(string_view text) noexcept {
    return text.size() >= 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5;
}
[[nodiscard]] inline bool has_name_of_pickle(string_view path) noexcept {
    constexpr string_view endings[] = {".pkl", ".pickle", ".pdparams", ".pdopt"};
    return std::any_of(std::begin(endings), std::end(endings),
                       [&](string_view each) { return ends_with_ignoring_case(path, each); });
}

/// `head` is the first head_bytes of a file of `file_bytes` bytes, or all of it. Null for a .zt file, or nothing that
/// is imported.
[[nodiscard]] ZTENSOR_COLD inline import_function sniff(bytes_view head, uint64_t file_bytes,
                                                        string_view path) noexcept {
    const string_view text = as_text(head);
    if (is_zt(head)) {
        return nullptr;
    }
    if (starts_with(text, "GGUF")) {
        return import_gguf;
    }
    if (starts_with(text, "\x93NUMPY")) {
        return import_npy;
    }
    if (starts_with(text, "PK\x03\x04") || starts_with(text, "PK\x05\x06")) {
        return import_zip; // npz or PyTorch: the entries tell
    }
    if (is_pt_legacy(text)) {
        return import_pt_legacy;
    }
    constexpr string_view first_of_tar("sys_info\0", 9);
    if (starts_with(text, first_of_tar)) {
        return import_pt_tar;
    }
    if (head.size() > size_field_bytes && text[size_field_bytes] == '{' &&
        load_little(head.data(), size_field_bytes) <= file_bytes) {
        return import_safetensors; // whose first bytes are any
    }
    if (is_pickle(text)) {
        return import_pickle;
    }
    if (is_something_else(text)) { // which the ordinary reader names
        return nullptr;
    }
    if (ends_with_ignoring_case(path, ".safetensors")) { // damaged, and its importer says how
        return import_safetensors;
    }
    if (has_name_of_pickle(path)) {
        return import_pickle;
    }
    return ends_with_ignoring_case(path, ".onnx") || may_be_onnx(head) ? import_onnx : nullptr;
}

/// What the name tells of a file whose first bytes tell nothing; null if that is nothing, too.
[[nodiscard]] ZTENSOR_COLD inline const char* named_kind(string_view path) noexcept {
    struct ending {
        string_view end;
        const char* what;
    };
    constexpr ending endings[] = {
        {".pb", "a graph of TensorFlow: save its variables by numpy.savez"},
        {".index", "the index of a TensorFlow checkpoint: save its variables by numpy.savez"},
        {".data-00000-of-00001", "the data of a TensorFlow checkpoint: save its variables by numpy.savez"},
        {".msgpack", "weights of Flax: save them by safetensors.flax.save_file"},
        {".distcp", "a part of a checkpoint of torch.distributed.checkpoint: save its state dict by torch.save"},
        {".mlmodel", "a Core ML model: open the checkpoint that it was made of"},
        {".pdiparams", "weights of a Paddle program: save its state dict by paddle.save, as .pdparams"},
        {".params", "weights of MXNet: save them by numpy.savez"},
        {".caffemodel", "a Caffe model: convert it to ONNX"},
        {".engine", "an engine of TensorRT: open the model that it was made of"},
    };
    const auto found = std::find_if(std::begin(endings), std::end(endings), [&](const ending& each) {
        return ends_with_ignoring_case(path, each.end);
    });
    return found != std::end(endings) ? found->what : nullptr;
}

// -- open any

/// What a file is that no importer reads, where its first head_bytes don't tell. Errors: foreign_file; what the source
/// says.
ZTENSOR_COLD inline result<void> refuse_by_name(const foreign_file& file) {
    byte head[264]; // a tar archive says behind the first 256 bytes what it is
    const span<byte> start(head, static_cast<size_t>((std::min<uint64_t>)(file.source->size(), sizeof head)));
    ZTENSOR_TRY(file.source->read_at(0, start));
    if (const char* const kind = foreign_kind_within(as_text(start))) {
        return fail(errc::foreign_file, "not a .zt file but {}", {kind}).in_file(path_text(file.path));
    }
    const char* const named = named_kind(path_text(file.path));
    return named == nullptr ? result<void>()
                            : fail(errc::foreign_file, "not a .zt file but, by its name, {}", {named})
                                  .in_file(path_text(file.path));
}

ZTENSOR_COLD inline result<import_function> sniff(const foreign_file& file) {
    byte head[head_bytes];
    const uint64_t size = file.source->size();
    const span<byte> start(head, static_cast<size_t>((std::min<uint64_t>)(size, head_bytes)));
    ZTENSOR_TRY(file.source->read_at(0, start));
    const import_function found = sniff(start, size, path_text(file.path));
    if (found != nullptr || is_zt(start)) {
        return found;
    }
    ZTENSOR_TRY_ASSIGN(const bool is_hdf5, has_hdf5_signature(*file.source));
    if (!is_hdf5 && foreign_kind(as_text(start), size) == nullptr) {
        ZTENSOR_TRY(refuse_by_name(file));
    }
    return is_hdf5 ? [](const foreign_file& of) { return import_by_option(of, false); } : found;
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader> open_one(const foreign_file& file) {
    ZTENSOR_TRY_ASSIGN(const import_function read, sniff(file));
    if (read == nullptr) {
        return reader_maker::open(file); // which names what can't be imported
    }
    result<imported> made = read(file);
    return made ? reader_maker::open(file, *std::move(made)) : std::move(made).error().in_file(path_text(file.path));
}

ZTENSOR_COLD ZTENSOR_INLINE file_content content_of(const foreign_file& file) {
    byte head[head_bytes];
    const uint64_t size = file.source->size();
    const span<byte> start(head, static_cast<size_t>((std::min<uint64_t>)(size, head_bytes)));
    if (!file.source->read_at(0, start)) {
        return file_content::stand_in;
    }
    const import_function found = sniff(start, size, {});
    if (is_zt(start) || (found != nullptr && found != import_onnx)) { // of ONNX a few bits alone can be recognised
        return file_content::tensors;
    }
    const result<bool> is_hdf5 = has_hdf5_signature(*file.source);
    if (is_hdf5 && *is_hdf5 && importer_access::of(file.options) != nullptr) {
        return file_content::tensors;
    }
    return is_something_else(as_text(bytes_view(start))) ? file_content::stand_in : file_content::other;
}

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE result<reader> open_any(std::shared_ptr<const byte_source> source, const file_path& name,
                                                    const read_options& options) {
    if (source == nullptr) {
        return detail::no_source();
    }
    return detail::guard_memory([&] {
        const detail::foreign_file file = {detail::with_read_ahead(std::move(source), options), name.native(), options};
        const bool is_index = detail::ends_with_ignoring_case(detail::path_text(file.path), ".json");
        return is_index ? detail::open_index(file) : detail::open_one(file);
    });
}

// -- index

ZTENSOR_COLD ZTENSOR_INLINE result<file_index> read_index(const file_path& path, const read_options& options) {
    return detail::guard_memory([&]() -> result<file_index> {
        ZTENSOR_TRY_ASSIGN(std::shared_ptr<const byte_source> source, detail::open_source(path, options));
        return read_index(std::move(source), path, options);
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<file_index> read_index(std::shared_ptr<const byte_source> source,
                                                          const file_path& name, const read_options& options) {
    if (source == nullptr) {
        return detail::no_source();
    }
    return detail::guard_memory([&]() -> result<file_index> {
        const auto noting = std::make_shared<detail::noting_source>(std::move(source));
        ZTENSOR_TRY(detail::open_one({noting, name.native(), options}));
        return noting->index();
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<reader> open_any(std::shared_ptr<const byte_source> source, const file_path& name,
                                                    const file_index& index, const read_options& options) {
    if (source == nullptr) {
        return detail::no_source();
    }
    return detail::guard_memory([&]() -> result<reader> {
        ZTENSOR_TRY(
            detail::in_file(detail::file_index_access::check_same(*source, index), detail::path_text(name.native())));
        source = detail::with_read_ahead(std::move(source), options);
        return detail::open_one(
            {std::make_shared<detail::indexed_source>(std::move(source), index), name.native(), options});
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
