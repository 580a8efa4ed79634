// SPDX-License-Identifier: MIT
//
// Dense tensors as other formats have them, headers of .npy and .safetensors files, and ZIP archives.
#ifndef ZTENSOR_DETAIL_TRANSFER_EXPORT_FORMATS_HPP
#define ZTENSOR_DETAIL_TRANSFER_EXPORT_FORMATS_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/copy.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/io.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- exported tensor
//
// What of a file another format can hold: dense tensors, each with what it will be there. Knows no format but by name.

struct exported_type;

struct exported_tensor {
    object_view object;
    component_view data;
    string name; ///< in the new file
    ztensor::shape shape;
    dtype storage;    ///< in the new file
    string_view type; ///< logical, if it is more than the storage type
    uint64_t bytes;   ///< in the new file
    bool converts = false;
    const exported_type* word = nullptr; ///< of safetensors
};

[[nodiscard]] ZTENSOR_COLD inline error not_in_format(string_view format, const string& feature) {
    return fail(errc::not_expressible, "{} has no {}", {format, feature});
}

/// Numbers that floats_as() is about: floats, and what is narrower than a byte, of which no other format has numbers.
[[nodiscard]] inline bool is_floating(dtype storage, string_view type) noexcept {
    return type.empty() ? facts(storage).category == dtype_class::floating
                        : find_float8(type) != nullptr || ztensor::find_narrow_type(type) != nullptr;
}

/// Blocks of quantized weights, which become floats where these are asked for.
[[nodiscard]] inline bool becomes_floats(const object_view& object, const export_options& options) noexcept {
    return options.floats_as() && !object.format().is_known() &&
           object.format().text().substr(0, ggml_format_prefix.size()) == ggml_format_prefix;
}

/// Attributes of an object, but for those that say what a block is, where weights are written in its stead.
[[nodiscard]] inline bool has_attributes_to_keep(const object_view& object, const export_options& options) {
    const string_view of_blocks[] = {"block_bytes", "elems_per_block"};
    const attributes_view attributes = object.attributes();
    return std::any_of(attributes.begin(), attributes.end(), [&](const attribute& each) {
        return !becomes_floats(object, options) ||
               std::find(std::begin(of_blocks), std::end(of_blocks), each.key) == std::end(of_blocks);
    });
}

/// What the elements are in the new file, but for their number. Errors: not_expressible; those of weights in blocks.
inline result<exported_tensor> describe_elements(const object_view& object, string_view format,
                                                 const export_options& options) {
    if (becomes_floats(object, options)) {
        ZTENSOR_TRY(find_weight_blocks(object_access::file_of(object).index, object_access::record_of(object)));
        const component_view blocks = object.component("data").value();
        return exported_tensor{object, blocks, string(object.name()), object.shape(), *options.floats_as(), {},
                               0,      true};
    }
    if (object.format() != ztensor::format::dense) {
        return not_in_format(format, sentence("place for an object of the format {}",
                                              {in_quotes(object_access::format_word_of(object))}));
    }
    ZTENSOR_TRY_ASSIGN(const component_view data, object.data());
    if (!data.dtype().is_known()) {
        return not_in_format(format, sentence("storage type {}", {in_quotes(data.dtype().text())}));
    }
    if (is_unknown(data.type()) && find_logical_type(data.type().text()) != nullptr) { // over another storage type
        return not_in_format(format, sentence("logical type {}", {in_quotes(data.type().text())}));
    }
    exported_tensor made{object,
                         data,
                         string(object.name()),
                         object.shape(),
                         *data.dtype().known(),
                         component_access::type_word_of(data),
                         0};
    if (made.type == name(made.storage)) {
        made.type = {};
    }
    if (made.type == name(dtype::boolean) && !is_unknown(data.type())) { // of version 2, where it is a logical type
        made.storage = dtype::boolean;
        made.type = {};
    }
    if (options.floats_as() && is_floating(made.storage, made.type)) {
        made.converts = made.storage != *options.floats_as() || !made.type.empty();
        made.storage = *options.floats_as();
        made.type = {};
    }
    return made;
}

inline result<exported_tensor> describe_export(const object_view& object, string_view format,
                                               const export_options& options) {
    ZTENSOR_TRY_ASSIGN(exported_tensor made, describe_elements(object, format, options));
    if (options.attributes() && object.has_attributes() && has_attributes_to_keep(object, options)) {
        return not_in_format(format, "place for attributes of a tensor");
    }
    if (options.rename()) {
        made.name = options.rename()(object.name());
    }
    const logical_type_facts* const logical = find_logical_type(made.type);
    const uint64_t width = width_bytes(made.storage) * (logical != nullptr ? logical->storage_elements : 1);
    const optional<uint64_t> bytes = checked_multiply(object.element_count(), width);
    if (!bytes) {
        return fail(errc::shape_overflow, "{} elements of {} bytes need more than 64 bits",
                    {object.element_count(), width});
    }
    made.bytes = *bytes;
    return made;
}

/// Names may come from the caller. Errors: name_invalid, duplicate_key.
inline result<void> check_names(const vector<exported_tensor>& tensors) {
    for (const exported_tensor& each : tensors) {
        if (const char* const problem = name_problem(each.name)) {
            return fail(errc::name_invalid, problem).in_object(each.name);
        }
    }
    if (const optional<string_view> twin = find_same_name(tensors)) {
        return fail(errc::duplicate_key, "two tensors are to have this name").in_object(*twin);
    }
    return {};
}

/// Those that the options select, in the order of the reader.
inline result<vector<exported_tensor>> list_exports(const reader& from, string_view format,
                                                    const export_options& options) {
    if (options.floats_as() && facts(*options.floats_as()).category != dtype_class::floating) {
        return fail(errc::invalid_argument, "floats can become f64, f32, f16 or bf16, not {}",
                    {name(*options.floats_as())});
    }
    vector<exported_tensor> tensors;
    for (const object_view object : from) {
        if (options.select() && !options.select()(object)) {
            continue;
        }
        ZTENSOR_TRY_ASSIGN(exported_tensor tensor, in_object(describe_export(object, format, options), object.name()));
        tensors.push_back(std::move(tensor));
    }
    ZTENSOR_TRY(check_names(tensors));
    return tensors;
}

/// Gives the new file's bytes of a tensor, in their order, to `take(piece) -> result<void>`.
template <class Take>
result<void> for_each_piece(const exported_tensor& tensor, const Take& take) {
    ZTENSOR_TRY_ASSIGN(component_pieces pieces, tensor.converts
                                                    ? component_pieces::open_as(tensor.object, tensor.storage)
                                                    : component_pieces::open(tensor.data));
    uint64_t taken = 0;
    for (;;) {
        ZTENSOR_TRY_ASSIGN(const bytes_view piece, pieces.next());
        taken += piece.size();
        if (piece.empty() && taken != tensor.bytes) {
            return fail(errc::size_mismatch, "the tensor has {} bytes, but shape and type make {}",
                        {taken, tensor.bytes});
        }
        if (piece.empty()) {
            return {};
        }
        ZTENSOR_TRY(take(piece));
    }
}

/// Calls `write(tensor) -> result<void>` for all of them, and tells after each how far the export has come.
/// Errors: cancelled.
template <class Write>
result<void> write_each(const vector<exported_tensor>& tensors, const export_options& options, const Write& write) {
    copy_progress progress;
    read_ahead stored(0);
    for (const exported_tensor& each : tensors) {
        progress.total_bytes += each.bytes;
        announce_object(stored, object_access::file_of(each.object), object_access::record_of(each.object));
    }
    stored.begin();
    for (const exported_tensor& each : tensors) {
        ZTENSOR_TRY(write(each));
        progress.object = each.name;
        progress.done_bytes += each.bytes;
        if (options.progress() && !options.progress()(progress)) {
            return fail(errc::cancelled, "the export was stopped after {} of {} bytes",
                        {progress.done_bytes, progress.total_bytes});
        }
    }
    return {};
}

// -- exported types

/// What elements are called in other formats.
struct exported_type {
    string_view safetensors; ///< "" if it has no word for them, as the next
    string_view npy;
    dtype storage;
    string_view type = {}; ///< logical
    uint64_t bits = 0;     ///< of an element, where that is less than a byte: its storage is packed
};

/// In the order of safetensors' own enumeration, in which its files have the last ones first.
inline constexpr exported_type exported_types[] = {
    {"BOOL", "|b1", dtype::boolean},
    {"F4", "", dtype::u8, "f4", 4},
    {"F6_E2M3", "", dtype::u8, "f6_e2m3", 6},
    {"F6_E3M2", "", dtype::u8, "f6_e3m2", 6},
    {"U8", "|u1", dtype::u8},
    {"I8", "|i1", dtype::i8},
    {"F8_E5M2", "", dtype::u8, "f8_e5m2"},
    {"F8_E4M3", "", dtype::u8, "f8_e4m3fn"},
    {"F8_E8M0", "", dtype::u8, "f8_e8m0"},
    {"F8_E4M3FNUZ", "", dtype::u8, "f8_e4m3fnuz"},
    {"F8_E5M2FNUZ", "", dtype::u8, "f8_e5m2fnuz"},
    {"I16", "<i2", dtype::i16},
    {"U16", "<u2", dtype::u16},
    {"F16", "<f2", dtype::f16},
    {"BF16", "", dtype::bf16},
    {"I32", "<i4", dtype::i32},
    {"U32", "<u4", dtype::u32},
    {"F32", "<f4", dtype::f32},
    {"C64", "<c8", dtype::f32, "complex64"},
    {"F64", "<f8", dtype::f64},
    {"I64", "<i8", dtype::i64},
    {"U64", "<u8", dtype::u64},
    {"", "<c16", dtype::f64, "complex128"},
};

/// The row of what a tensor's elements are, if `word` of it is not "". Errors: not_expressible.
inline result<const exported_type*> exported_type_of(const exported_tensor& tensor, string_view exported_type::*word,
                                                     string_view format) {
    const string_view type = tensor.type == "f4_e2m1" ? string_view("f4") : tensor.type; // of version 2
    for (const exported_type& row : exported_types) {
        if (row.storage == tensor.storage && row.type == type && !(row.*word).empty()) {
            return &row;
        }
    }
    return not_in_format(format,
                         sentence("type {}", {in_quotes(tensor.type.empty() ? name(tensor.storage) : tensor.type)}))
        .in_object(tensor.name);
}

/// A record of numbers of fixed width, least significant byte first.
class little_endian_record {
public:
    little_endian_record& number(uint64_t value, size_t bytes) {
        for (size_t i = 0; i < bytes; ++i) {
            bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
        }
        return *this;
    }
    little_endian_record& text(string_view value) { return bytes_ += value, *this; }
    little_endian_record& zeros(size_t count) { return bytes_.append(count, '\0'), *this; }

    [[nodiscard]] size_t size() const noexcept { return bytes_.size(); }
    [[nodiscard]] string_view bytes() const noexcept { return bytes_; }

private:
    string bytes_;
};

// -- npy header
//
// The header of a .npy file, as numpy.save writes it.

/// No header that make_npy_header() makes is longer.
inline constexpr uint64_t longest_npy_header_bytes = 65536;

/// "(2, 3)", "(2,)", "()"
[[nodiscard]] inline string npy_shape_text(const shape& dimensions) {
    string out = "(";
    for (const uint64_t dimension : dimensions) {
        out += std::to_string(dimension);
        out += ", ";
    }
    if (dimensions.rank() == 0) {
        return out += ')';
    }
    out.resize(out.size() - (dimensions.rank() == 1 ? 1 : 2));
    return out += ')';
}

/// Everything before the elements: a multiple of 64 bytes. Version 1.0, since 64 dimensions take less than 64 KiB.
/// Errors: not_expressible.
inline result<string> make_npy_header(const exported_tensor& tensor) {
    constexpr size_t growing_dimension_digits = 21; // room that NumPy leaves to append rows in place
    constexpr size_t prefix_bytes = 10;
    constexpr size_t alignment = 64;
    ZTENSOR_TRY_ASSIGN(const exported_type* const type, exported_type_of(tensor, &exported_type::npy, "NumPy"));
    string text =
        sentence("{'descr': '{}', 'fortran_order': False, 'shape': {}, }", {type->npy, npy_shape_text(tensor.shape)});
    if (tensor.shape.rank() != 0) {
        text.append(growing_dimension_digits - std::to_string(tensor.shape[0]).size(), ' ');
    }
    const size_t unpadded = prefix_bytes + text.size() + 1;
    text.append(alignment - unpadded % alignment, ' '); // a whole 64 where none are needed, too
    text += '\n';
    little_endian_record out;
    out.text({"\x93NUMPY\x01\x00", 8}).number(text.size(), 2).text(text);
    return string(out.bytes());
}

// -- safetensors header
//
// The header of a safetensors file: JSON as that format's own library writes it.

/// Behind the last of several values.
inline void drop_comma(string& out) {
    out.resize(out.size() - (out.back() == ',' ? 1 : 0));
}

/// Errors: not_expressible, for a value that is not text.
inline result<void> append_json_metadata(string& out, const attributes_view& attributes) {
    vector<std::pair<string, string>> texts;
    for (const attribute& each : attributes) {
        cbor_cursor value(each.cbor);
        string text;
        if (!value.read_joined(cbor_major::text, text)) {
            return not_in_format("safetensors",
                                 sentence("place for the attribute {}, which is not text", {in_quotes(each.key)}));
        }
        texts.emplace_back(each.key, std::move(text));
    }
    std::sort(texts.begin(), texts.end());
    out += "\"__metadata__\":{";
    for (const auto& [key, text] : texts) {
        append_json_text(out, key);
        out += ':';
        append_json_text(out, text);
        out += ',';
    }
    drop_comma(out);
    out += "},";
    return {};
}

inline void append_json_tensor(string& out, const exported_tensor& tensor, uint64_t begin) {
    append_json_text(out, tensor.name);
    out += sentence(":{\"dtype\":\"{}\",\"shape\":[", {tensor.word->safetensors});
    for (const uint64_t dimension : tensor.shape) {
        out += std::to_string(dimension);
        out += ',';
    }
    drop_comma(out);
    out += sentence("],\"data_offsets\":[{},{}]},", {begin, begin + tensor.bytes});
}

/// The bytes of elements that are packed, as that library counts them; others have theirs. Errors: not_expressible.
inline result<void> count_packed_bytes(exported_tensor& tensor) {
    if (tensor.word->bits == 0) {
        return {};
    }
    const optional<uint64_t> bits = checked_multiply(*tensor.shape.element_count(), tensor.word->bits);
    if (!bits || *bits % 8 != 0 || tensor.data.decoded_bytes() != *bits / 8) {
        return not_in_format("safetensors", sentence("{} of this shape in so many bytes", {tensor.word->safetensors}))
            .in_object(tensor.name);
    }
    tensor.bytes = *bits / 8;
    return {};
}

/// PyTorch counts pairs of float4 as one element, and safetensors each of them. Errors: shape_overflow.
inline result<void> split_pairs(exported_tensor& tensor) {
    const size_t rank = tensor.shape.rank();
    if (tensor.type != "f4_e2m1fn_x2" || rank == 0) {
        return {};
    }
    const optional<uint64_t> last = checked_multiply(tensor.shape[rank - 1], 2);
    if (!last) {
        return fail(errc::shape_overflow, "the tensor has more elements than 64 bits count").in_object(tensor.name);
    }
    ztensor::shape each;
    for (size_t i = 0; i < rank; ++i) {
        each.push_back(i + 1 == rank ? *last : tensor.shape[i]);
    }
    tensor.shape = std::move(each);
    tensor.type = "f4";
    return {};
}

/// Sorts the tensors as they will stand in the file. Errors: not_expressible.
inline result<void> order_for_safetensors(vector<exported_tensor>& tensors) {
    for (exported_tensor& each : tensors) {
        ZTENSOR_TRY(split_pairs(each));
        ZTENSOR_TRY_ASSIGN(each.word, exported_type_of(each, &exported_type::safetensors, "safetensors"));
        ZTENSOR_TRY(count_packed_bytes(each));
        if (each.name == "__metadata__") {
            return not_in_format("safetensors", "tensor of this name, which it has for attributes")
                .in_object(each.name);
        }
    }
    std::sort(tensors.begin(), tensors.end(), [](const exported_tensor& a, const exported_tensor& b) {
        return a.word != b.word ? a.word > b.word : a.name < b.name;
    });
    return {};
}

/// All that stands before the data of tensors in that order; `attributes` may be null. Errors: not_expressible,
/// shape_overflow.
inline result<string> make_safetensors_header(const vector<exported_tensor>& tensors,
                                              const attributes_view* attributes) {
    constexpr size_t length_bytes = 8;
    constexpr size_t data_alignment = 64;
    constexpr size_t most_header_bytes = 100'000'000; // that library reads no more
    string out(length_bytes, '\0');
    out += '{';
    if (attributes != nullptr) {
        ZTENSOR_TRY(append_json_metadata(out, *attributes));
    }
    uint64_t begin = 0;
    for (const exported_tensor& each : tensors) {
        const optional<uint64_t> end = checked_add(begin, each.bytes);
        if (!end) {
            return fail(errc::shape_overflow, "all tensors together need more bytes than 64 bits count");
        }
        append_json_tensor(out, each, begin);
        begin = *end;
    }
    drop_comma(out);
    out += '}';
    out.resize((out.size() + data_alignment - 1) / data_alignment * data_alignment, ' ');
    const size_t header_bytes = out.size() - length_bytes;
    if (header_bytes > most_header_bytes) {
        return not_in_format("safetensors",
                             sentence("header of {} bytes; {} is the most", {header_bytes, most_header_bytes}));
    }
    return out.replace(0, length_bytes, little_endian_record().number(header_bytes, length_bytes).bytes());
}

// -- zip writer
//
// A ZIP archive of stored entries, ZIP64 where it must be. Knows nothing of what the entries hold.

/// Writes entry after entry, then the directory. Errors are those of the sink.
class zip_writer {
public:
    static constexpr uint64_t data_alignment = 64;

    explicit zip_writer(byte_sink& sink) noexcept : sink_(sink) {}

    /// What stands before the data of an entry, which is to come by write(), exactly `size_bytes` of it. `name` has at
    /// most 65,535 bytes.
    result<void> begin_entry(string name, uint64_t size_bytes, uint32_t crc) {
        entries_.push_back({std::move(name), size_bytes, position_, crc});
        const zip_entry& entry = entries_.back();
        little_endian_record extra;
        if (size_bytes >= most_32) {
            extra.number(zip64_extra, 2).number(16, 2).number(size_bytes, 8).number(size_bytes, 8);
        }
        align(extra, position_ + local_header_bytes + entry.name.size() + extra.size());
        little_endian_record header;
        header.number(0x04034b50, 4);
        describe(header, entry);
        header.number((std::min)(size_bytes, most_32), 4).number((std::min)(size_bytes, most_32), 4);
        header.number(entry.name.size(), 2).number(extra.size(), 2).text(entry.name).text(extra.bytes());
        return write(as_bytes(header.bytes()));
    }

    result<void> write(bytes_view bytes) {
        position_ += bytes.size();
        return sink_.write(bytes);
    }

    result<void> finish() {
        const uint64_t directory_begin = position_;
        for (const zip_entry& each : entries_) {
            ZTENSOR_TRY(write_directory_entry(each));
        }
        return write_end(directory_begin, position_ - directory_begin);
    }

private:
    static constexpr uint64_t most_16 = 0xffff; ///< this, and the next, say that ZIP64 has the number
    static constexpr uint64_t most_32 = 0xffffffff;
    static constexpr uint64_t local_header_bytes = 30;
    static constexpr uint64_t zip64_extra = 0x0001;
    static constexpr uint64_t alignment_extra = 0xd935; ///< Android's zipalign pads with it
    static constexpr uint64_t version_of_stored = 20;
    static constexpr uint64_t version_of_zip64 = 45;

    struct zip_entry {
        string name;
        uint64_t size_bytes;
        uint64_t position; ///< of its local header
        uint32_t crc;

        [[nodiscard]] bool needs_zip64() const noexcept { return size_bytes >= most_32 || position >= most_32; }
    };

    /// Brings what follows the extra fields, which would start at `position`, to a multiple of data_alignment.
    static void align(little_endian_record& extra, uint64_t position) {
        constexpr uint64_t field_bytes = 6; // of the field that pads: its kind, its size, the alignment
        if (position % data_alignment == 0) {
            return;
        }
        const uint64_t padding = (2 * data_alignment - (position + field_bytes) % data_alignment) % data_alignment;
        extra.number(alignment_extra, 2).number(2 + padding, 2).number(data_alignment, 2);
        extra.zeros(static_cast<size_t>(padding));
    }

    /// What local header and directory have in common: versions, flags, method, time, checksum.
    static void describe(little_endian_record& out, const zip_entry& entry) {
        constexpr uint64_t utf8_flag = 0x0800;
        constexpr uint64_t first_day = 0x0021; // 1 January 1980: the same tensors make the same file
        out.number(entry.needs_zip64() ? version_of_zip64 : version_of_stored, 2);
        out.number(is_ascii(entry.name) ? 0 : utf8_flag, 2).number(0, 2);
        out.number(0, 2).number(first_day, 2).number(entry.crc, 4);
    }

    result<void> write_directory_entry(const zip_entry& entry) {
        constexpr uint64_t unix_made = 3 << 8;
        constexpr uint64_t regular_file = uint64_t{0100644} << 16;
        little_endian_record large;
        if (entry.size_bytes >= most_32) {
            large.number(entry.size_bytes, 8).number(entry.size_bytes, 8);
        }
        if (entry.position >= most_32) {
            large.number(entry.position, 8);
        }
        little_endian_record out;
        out.number(0x02014b50, 4).number(unix_made | (entry.needs_zip64() ? version_of_zip64 : version_of_stored), 2);
        describe(out, entry);
        out.number((std::min)(entry.size_bytes, most_32), 4).number((std::min)(entry.size_bytes, most_32), 4);
        out.number(entry.name.size(), 2).number(large.size() != 0 ? large.size() + 4 : 0, 2).number(0, 2);
        out.number(0, 2).number(0, 2).number(regular_file, 4).number((std::min)(entry.position, most_32), 4);
        out.text(entry.name);
        if (large.size() != 0) {
            out.number(zip64_extra, 2).number(large.size(), 2).text(large.bytes());
        }
        return write(as_bytes(out.bytes()));
    }

    result<void> write_end(uint64_t begin, uint64_t size_bytes) {
        const uint64_t count = entries_.size();
        little_endian_record out;
        if (count >= most_16 || begin >= most_32 || size_bytes >= most_32) {
            out.number(0x06064b50, 4).number(44, 8).number(version_of_zip64, 2).number(version_of_zip64, 2);
            out.number(0, 4).number(0, 4).number(count, 8).number(count, 8).number(size_bytes, 8).number(begin, 8);
            out.number(0x07064b50, 4).number(0, 4).number(begin + size_bytes, 8).number(1, 4);
        }
        out.number(0x06054b50, 4).number(0, 2).number(0, 2);
        out.number((std::min)(count, most_16), 2).number((std::min)(count, most_16), 2);
        out.number((std::min)(size_bytes, most_32), 4).number((std::min)(begin, most_32), 4).number(0, 2);
        return write(as_bytes(out.bytes()));
    }

    byte_sink& sink_;
    uint64_t position_ = 0;
    vector<zip_entry> entries_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
