// SPDX-License-Identifier: MIT
//
// HDF5: the types of elements, and the values of attributes.
#ifndef ZTENSOR_DETAIL_HDF5_VALUES_HPP
#define ZTENSOR_DETAIL_HDF5_VALUES_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/hdf5/library.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- elements
//
// libhdf5's types of elements -> ours, or the reason why there is none.

/// What the elements of a dataset are, as they are read.
struct hdf5_elements {
    string_view dtype;  ///< in the words of 1.2
    string_view type;   ///< a logical type; "" for none
    uint64_t bytes = 0; ///< of one, inner dimensions included
    vector<uint64_t> inner_dimensions;
    bool is_big_endian = false;
    /// Integers of odd widths, which libhdf5 turns into little-endian ones of `dtype`. Others are as the file has them.
    bool is_converted = false;
};

/// Fills `found`; the reason where that can't be, else nullptr. `word` is the attribute "dtype" of the dataset, by
/// which Keras says what opaque elements are.
class hdf5_classifier {
public:
    hdf5_classifier(hdf5_elements& found, string_view word) noexcept : found_(found), word_(word) {}

    [[nodiscard]] const char* classify(hid_t type) {
        constexpr int most_nested = 8;
        hdf5_id inner;
        hid_t element = type;
        uint64_t repeated = 1;
        for (int depth = 0; ::H5Tget_class(element) == H5T_ARRAY; ++depth) {
            if (depth == most_nested || !take_dimensions(element, repeated)) {
                return "its elements are arrays of too many dimensions or elements";
            }
            inner = hdf5_id(::H5Tget_super(element), &H5Tclose);
            element = inner.get();
        }
        const size_t size = ::H5Tget_size(element);
        const char* const refused = size == 0 ? "the size of its elements is unknown" : classify_one(element, size);
        if (refused != nullptr) {
            return refused;
        }
        if (found_.is_converted && repeated != 1) {
            return "its elements are arrays of integers of an odd width";
        }
        found_.bytes *= repeated;
        return nullptr;
    }

private:
    [[nodiscard]] bool take_dimensions(hid_t type, uint64_t& repeated) {
        hsize_t dimensions[H5S_MAX_RANK] = {};
        const int rank = ::H5Tget_array_ndims(type);
        if (rank < 0 || rank > H5S_MAX_RANK || ::H5Tget_array_dims2(type, dimensions) < 0) {
            return false;
        }
        for (int i = 0; i < rank; ++i) {
            constexpr uint64_t most_elements = uint64_t{1} << 32; // a type has less than 4 GiB
            if (dimensions[i] > most_elements || repeated * dimensions[i] > most_elements) {
                return false;
            }
            repeated *= dimensions[i];
            found_.inner_dimensions.push_back(dimensions[i]);
        }
        return repeated != 0;
    }

    [[nodiscard]] const char* classify_one(hid_t type, size_t size) {
        found_.bytes = size;
        switch (::H5Tget_class(type)) {
        case H5T_INTEGER:
        case H5T_BITFIELD:
            return classify_integer(type, size);
        case H5T_FLOAT:
            return classify_float(type, size);
        case H5T_ENUM:
            return classify_enumeration(type, size);
        case H5T_COMPOUND:
            return classify_compound(type, size);
        case H5T_OPAQUE:
            return classify_opaque(type, size);
        case H5T_STRING:
            return "its elements are text";
        case H5T_VLEN:
            return "its elements are lists of varying length";
        case H5T_REFERENCE:
            return "its elements are references";
        case H5T_TIME:
            return "its elements are times";
        default:
#if H5_VERSION_GE(2, 0, 0)
            if (::H5Tget_class(type) == H5T_COMPLEX) {
                const hdf5_id part(::H5Tget_super(type), &H5Tclose);
                return classify_complex(part.get(), size);
            }
#endif
            return "its elements are of a type that this library does not know";
        }
    }

    /// False for the order of a VAX, and for none.
    [[nodiscard]] bool take_order(hid_t type, size_t size) noexcept {
        const H5T_order_t order = ::H5Tget_order(type);
        found_.is_big_endian = order == H5T_ORDER_BE && size > 1;
        return order == H5T_ORDER_LE || order == H5T_ORDER_BE || size == 1;
    }

    [[nodiscard]] const char* classify_integer(hid_t type, size_t size) noexcept {
        constexpr string_view of_sign[] = {"i8", "i16", "i32", "i64"}, of_none[] = {"u8", "u16", "u32", "u64"};
        const bool is_bits = ::H5Tget_class(type) == H5T_BITFIELD;
        const bool has_sign = !is_bits && ::H5Tget_sign(type) == H5T_SGN_2;
        if (size > 8 || !take_order(type, size)) {
            return "its elements are integers of more than 64 bits or of an odd order of bytes";
        }
        const size_t width_log2 = size == 1 ? 0 : size == 2 ? 1 : size <= 4 ? 2 : 3;
        found_.dtype = has_sign ? of_sign[width_log2] : of_none[width_log2];
        if (size != size_t{1} << width_log2 || ::H5Tget_precision(type) != 8 * size) {
            if (is_bits) {
                return "its elements are bits of an odd number";
            }
            found_.is_converted = true;
            found_.is_big_endian = false;
            found_.bytes = size_t{1} << width_log2;
        }
        return nullptr;
    }

    struct float_form {
        size_t size, sign_at, exponent_at, exponent_bits, mantissa_at, mantissa_bits, bias;
        string_view dtype, type;
    };

    [[nodiscard]] const char* classify_float(hid_t type, size_t size) noexcept {
        static constexpr float_form forms[] = {
            {8, 63, 52, 11, 0, 52, 1023, "f64", ""},  {4, 31, 23, 8, 0, 23, 127, "f32", ""},
            {2, 15, 10, 5, 0, 10, 15, "f16", ""},     {2, 15, 7, 8, 0, 7, 127, "bf16", ""},
            {1, 7, 3, 4, 0, 3, 7, "u8", "f8_e4m3fn"}, {1, 7, 2, 5, 0, 2, 15, "u8", "f8_e5m2"},
        };
        size_t sign_at = 0, exponent_at = 0, exponent_bits = 0, mantissa_at = 0, mantissa_bits = 0;
        if (::H5Tget_fields(type, &sign_at, &exponent_at, &exponent_bits, &mantissa_at, &mantissa_bits) < 0 ||
            !take_order(type, size) || ::H5Tget_precision(type) != 8 * size ||
            ::H5Tget_norm(type) != H5T_NORM_IMPLIED) {
            return "its elements are floating-point numbers of a form that has no type here";
        }
        for (const float_form& each : forms) {
            if (each.size == size && each.sign_at == sign_at && each.exponent_at == exponent_at &&
                each.exponent_bits == exponent_bits && each.mantissa_at == mantissa_at &&
                each.mantissa_bits == mantissa_bits && each.bias == ::H5Tget_ebias(type)) {
                found_.dtype = each.dtype;
                found_.type = each.type;
                return nullptr;
            }
        }
        return "its elements are floating-point numbers of a form that has no type here";
    }

    /// h5py's bools are bytes called FALSE and TRUE; other enumerations are the numbers that they are made of.
    [[nodiscard]] const char* classify_enumeration(hid_t type, size_t size) noexcept {
        const hdf5_id base(::H5Tget_super(type), &H5Tclose);
        if (const char* const refused = classify_integer(base.get(), size)) {
            return refused;
        }
        if (found_.is_converted) {
            return "its elements are an enumeration of integers of an odd width";
        }
        if (size == 1 && ::H5Tget_nmembers(type) == 2 && has_member(type, "FALSE", 0) && has_member(type, "TRUE", 1)) {
            found_.dtype = "bool";
        }
        return nullptr;
    }
    /// `type` is an enumeration of two bytes.
    [[nodiscard]] static bool has_member(hid_t type, string_view name, unsigned char value) noexcept {
        for (unsigned i = 0; i < 2; ++i) {
            unsigned char found = 0;
            const hdf5_text called(::H5Tget_member_name(type, i));
            if (called.view() == name && ::H5Tget_member_value(type, i, &found) >= 0 && found == value) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] const char* classify_compound(hid_t type, size_t size) {
        constexpr const char* records = "its elements are records of several fields";
        if (::H5Tget_nmembers(type) != 2 || ::H5Tget_member_offset(type, 0) != 0 ||
            ::H5Tget_member_offset(type, 1) != size / 2) {
            return records;
        }
        const hdf5_text first(::H5Tget_member_name(type, 0)), second(::H5Tget_member_name(type, 1));
        const bool is_complex =
            (first.view() == "r" && second.view() == "i") || (first.view() == "real" && second.view() == "imag");
        const hdf5_id real(::H5Tget_member_type(type, 0), &H5Tclose),
            imaginary(::H5Tget_member_type(type, 1), &H5Tclose);
        if (!is_complex || ::H5Tequal(real.get(), imaginary.get()) <= 0) {
            return records;
        }
        return classify_complex(real.get(), size);
    }
    /// `size` is that of both parts.
    [[nodiscard]] const char* classify_complex(hid_t part, size_t size) noexcept {
        constexpr const char* odd = "its elements are complex numbers of parts that are neither f32 nor f64";
        if (::H5Tget_class(part) != H5T_FLOAT || 2 * ::H5Tget_size(part) != size ||
            classify_float(part, size / 2) != nullptr || (found_.dtype != "f32" && found_.dtype != "f64")) {
            return odd;
        }
        found_.type = found_.dtype == "f32" ? "complex64" : "complex128";
        return nullptr;
    }

    struct named_form {
        string_view word;
        size_t size;
        string_view dtype, type;
    };

    /// What NumPy has no type of its own for, h5py writes as bytes without a meaning: a tag, or the attribute "dtype",
    /// may say what they are. Bytes of which nothing says anything are kept as bytes.
    [[nodiscard]] const char* classify_opaque(hid_t type, size_t size) {
        static constexpr named_form forms[] = {
            {"bfloat16", 2, "bf16", ""},
            {"float8_e4m3fn", 1, "u8", "f8_e4m3fn"},
            {"float8_e5m2", 1, "u8", "f8_e5m2"},
            {"float8_e4m3fnuz", 1, "u8", "f8_e4m3fnuz"},
            {"float8_e5m2fnuz", 1, "u8", "f8_e5m2fnuz"},
        };
        const hdf5_text tag(::H5Tget_tag(type));
        for (const named_form& each : forms) {
            if (each.size == size && (each.word == tag.view() || each.word == word_)) {
                found_.dtype = each.dtype;
                found_.type = each.type;
                return nullptr;
            }
        }
        if (!tag.view().empty()) {
            return "its elements are opaque, with a tag that this library does not know";
        }
        found_.dtype = "u8";
        found_.inner_dimensions.push_back(size);
        return nullptr;
    }

    hdf5_elements& found_;
    string_view word_;
};

// -- filters

/// What compresses chunks, by its number: libhdf5's own filters, and those registered with The HDF Group. `told` is
/// what the file calls it.
[[nodiscard]] inline string_view hdf5_filter_name(H5Z_filter_t filter, string_view told) noexcept {
    struct known_filter {
        H5Z_filter_t number;
        string_view name;
    };
    constexpr known_filter known[] = {
        {1, "deflate"},     {2, "shuffle"},        {3, "fletcher32"},   {4, "szip"},    {5, "nbit"},
        {6, "scaleoffset"}, {305, "LZO"},          {307, "bzip2"},      {32000, "LZF"}, {32001, "Blosc"},
        {32004, "LZ4"},     {32008, "bitshuffle"}, {32012, "bitgroom"}, {32013, "ZFP"}, {32015, "zstd"},
        {32017, "SZ"},      {32018, "FCIDECOMP"},  {32019, "JPEG"},     {32024, "SZ3"}, {32026, "Blosc2"},
        {32028, "SPERR"},
    };
    for (const known_filter& each : known) {
        if (each.number == filter) {
            return each.name;
        }
    }
    return told.empty() ? string_view("of no known name") : told;
}

/// Whether the first stored chunk went through a filter, by its place among those of the dataset; true where libhdf5
/// can't say. It walks the index of chunks, and is asked for a filter that is missing alone.
[[nodiscard]] inline bool hdf5_chunks_go_through(hid_t dataset, int filter) noexcept {
    const hdf5_id space(::H5Dget_space(dataset), &H5Sclose);
    hsize_t chunks = 0;
    if (!space || ::H5Dget_num_chunks(dataset, space.get(), &chunks) < 0) {
        return true;
    }
    hsize_t place[H5S_MAX_RANK] = {};
    unsigned left_out = 0; // a bit for each filter
    haddr_t offset = 0;
    hsize_t bytes = 0;
    return chunks != 0 && (::H5Dget_chunk_info(dataset, space.get(), 0, place, &left_out, &offset, &bytes) < 0 ||
                           (left_out >> filter & 1U) == 0);
}

// -- attribute values
//
// Attributes of HDF5 objects as CBOR: numbers, bools, texts, and arrays of them.

/// The names of an object's attributes, in the order of their names.
[[nodiscard]] inline bool list_hdf5_attributes(hid_t object, vector<string>& names) {
    const auto take = [](hid_t, const char* name, const H5A_info_t*, void* into) noexcept -> herr_t {
        const result<void> taken = guard_memory([&] {
            static_cast<vector<string>*>(into)->emplace_back(name);
            return result<void>();
        });
        return taken ? 0 : -1;
    };
    hsize_t start = 0;
    if (::H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &start, take, &names) < 0) {
        return false;
    }
    std::sort(names.begin(), names.end());
    return true;
}

/// One attribute -> one CBOR item.
class hdf5_attribute_reader {
public:
    /// `max_bytes` is what its value may take.
    hdf5_attribute_reader(hid_t object, const char* name, uint64_t max_bytes) noexcept
        : attribute_(::H5Aopen(object, name, H5P_DEFAULT), &H5Aclose), max_bytes_(max_bytes) {}

    /// Appends the value; the reason where that can't be, else nullptr, and then nothing was appended.
    [[nodiscard]] const char* encode(cbor_encoder& out) {
        constexpr const char* unreadable = "it can't be read";
        if (!attribute_) {
            return unreadable;
        }
        const hdf5_id type(::H5Aget_type(attribute_.get()), &H5Tclose);
        const hdf5_id space(::H5Aget_space(attribute_.get()), &H5Sclose);
        if (!type || !space) {
            return unreadable;
        }
        if (::H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
            out.null();
            return nullptr;
        }
        hsize_t dimensions[H5S_MAX_RANK] = {};
        const int rank = ::H5Sget_simple_extent_dims(space.get(), dimensions, nullptr);
        if (rank < 0) {
            return unreadable;
        }
        dimensions_.assign(dimensions, dimensions + rank);
        const size_t size = ::H5Tget_size(type.get());
        const optional<uint64_t> bytes = count_elements(dimensions_, size);
        if (size == 0 || !bytes || *bytes > max_bytes_) {
            return "it is larger than read_options::max_manifest_bytes allows";
        }
        bytes_.resize(static_cast<size_t>(*bytes));
        return ::H5Tget_class(type.get()) == H5T_STRING ? encode_texts(out, type.get(), space.get(), size)
                                                        : encode_numbers(out, type.get(), size);
    }

private:
    [[nodiscard]] bool read(hid_t type) noexcept {
        return bytes_.empty() || ::H5Aread(attribute_.get(), type, bytes_.data()) >= 0;
    }

    /// Arrays around the elements, which `encode_one(i)` appends.
    template <class EncodeOne>
    [[nodiscard]] const char* encode_elements(cbor_encoder& out, const EncodeOne& encode_one) const {
        constexpr size_t most_nested = 8; // the manifest has 32 levels in all
        if (dimensions_.size() > most_nested) {
            return "it has more than 8 dimensions";
        }
        const auto elements = static_cast<size_t>(*count_elements(dimensions_)); // as was checked
        if (elements == 0) {
            out.begin_array(0);
            return nullptr;
        }
        for (size_t i = 0; i < elements; ++i) {
            size_t of_array = elements;
            for (const uint64_t each : dimensions_) {
                if (i % of_array == 0) {
                    out.begin_array(each);
                }
                of_array /= static_cast<size_t>(each);
            }
            encode_one(i);
        }
        return nullptr;
    }

    [[nodiscard]] const char* encode_texts(cbor_encoder& out, hid_t type, hid_t space, size_t size) {
        if (!read(type)) {
            return "it can't be read";
        }
        const bool has_any_length = ::H5Tis_variable_str(type) > 0;
        const bool is_padded_by_spaces = ::H5Tget_strpad(type) == H5T_STR_SPACEPAD;
        uint64_t taken = 0;
        bool is_too_large = false;
        const char* const refused = encode_elements(out, [&](size_t i) {
            string_view text(static_cast<const char*>(static_cast<const void*>(bytes_.data() + i * size)), size);
            if (has_any_length) {
                const char* there = nullptr;
                std::memcpy(&there, bytes_.data() + i * size, sizeof there);
                text = there != nullptr ? string_view(there) : string_view();
            } else {
                text = text.substr(0, text.find('\0'));
                if (is_padded_by_spaces) {
                    text = text.substr(0, text.find_last_not_of(' ') + 1);
                }
            }
            taken += text.size();
            is_too_large = is_too_large || taken > max_bytes_;
            if (!is_too_large) {
                is_utf8(text) ? out.text(text) : out.byte_string(as_bytes(text));
            }
        });
        if (has_any_length && !bytes_.empty()) {
            reclaim_hdf5_elements(type, space, bytes_.data());
        }
        return is_too_large ? "it is larger than read_options::max_manifest_bytes allows" : refused;
    }

    [[nodiscard]] const char* encode_numbers(cbor_encoder& out, hid_t type, size_t size) {
        hdf5_elements elements;
        if (const char* const refused = hdf5_classifier(elements, {}).classify(type)) {
            return refused;
        }
        if (elements.is_converted || elements.bytes != size || elements.type != "") {
            return "its elements are of a type that attributes do not have";
        }
        if (!read(type)) {
            return "it can't be read";
        }
        size_t width = size;
        for (const uint64_t each : elements.inner_dimensions) {
            dimensions_.push_back(each);
            width /= static_cast<size_t>(each);
        }
        return encode_elements(out, [&](size_t i) {
            const byte* const at = bytes_.data() + i * width;
            encode_number(out, elements.dtype, elements.is_big_endian ? load_big(at, width) : load_little(at, width),
                          width);
        });
    }

    static void encode_number(cbor_encoder& out, string_view dtype, uint64_t bits, size_t width) {
        if (dtype == "bool") {
            return out.boolean(bits != 0);
        }
        if (dtype[0] == 'u') {
            return out.unsigned_integer(bits);
        }
        if (dtype[0] == 'i') {
            const uint64_t extended = extend_sign(bits, width);
            return extended >> 63 != 0 ? out.negative_integer(~extended) : out.unsigned_integer(extended);
        }
        if (dtype == "f16") {
            return out.number(static_cast<double>(static_cast<float>(float16::from_bits(static_cast<uint16_t>(bits)))));
        }
        if (dtype == "bf16") {
            return out.number(
                static_cast<double>(static_cast<float>(bfloat16::from_bits(static_cast<uint16_t>(bits)))));
        }
        if (dtype == "f32") {
            return out.number(static_cast<double>(bits_as<float>(static_cast<uint32_t>(bits))));
        }
        out.number(bits_as<double>(bits));
    }

    hdf5_id attribute_;
    uint64_t max_bytes_;
    vector<uint64_t> dimensions_;
    vector<byte> bytes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
