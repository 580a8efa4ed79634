// SPDX-License-Identifier: MIT
//
// Attributes of HDF5 objects as CBOR: numbers, bools, texts, and arrays of them.
#ifndef ZTENSOR_DETAIL_HDF5_ATTRIBUTE_VALUES_HPP
#define ZTENSOR_DETAIL_HDF5_ATTRIBUTE_VALUES_HPP

#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/utf8.hpp>
#include <ztensor/detail/hdf5/elements.hpp>
#include <ztensor/detail/hdf5/library.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The names of an object's attributes, in the order of their names.
[[nodiscard]] inline bool list_hdf5_attributes(hid_t object, std::vector<std::string>& names) {
    struct names_or_failure {
        std::vector<std::string>& names;
        bool has_failed;
    } found{names, false};
    const auto take = [](hid_t, const char* name, const H5A_info_t*, void* into) -> herr_t {
        auto& taken = *static_cast<names_or_failure*>(into);
#if ZTENSOR_HAS_EXCEPTIONS
        try {
            taken.names.emplace_back(name);
        } catch (...) {
            taken.has_failed = true;
        }
#else
        taken.names.emplace_back(name);
#endif
        return taken.has_failed ? -1 : 0;
    };
    hsize_t start = 0;
    if (::H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &start, take, &found) < 0) {
        return false;
    }
    std::sort(names.begin(), names.end());
    return true;
}

/// One attribute -> one CBOR item.
class hdf5_attribute_reader {
public:
    /// `max_bytes` is what its value may take.
    hdf5_attribute_reader(hid_t object, const char* name, std::uint64_t max_bytes) noexcept
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
        const std::size_t size = ::H5Tget_size(type.get());
        element_counter counter;
        bool is_countable = counter.multiply(size);
        for (const std::uint64_t each : dimensions_) {
            is_countable = is_countable && counter.multiply(each);
        }
        if (size == 0 || !is_countable || counter.count() > max_bytes_) {
            return "it is larger than read_options::max_manifest_bytes allows";
        }
        bytes_.resize(static_cast<std::size_t>(counter.count()));
        return ::H5Tget_class(type.get()) == H5T_STRING ? encode_texts(out, type.get(), space.get(), size)
                                                        : encode_numbers(out, type.get(), size);
    }

private:
    /// Of all dimensions the product. Fits, as it was checked.
    [[nodiscard]] std::size_t count() const noexcept {
        std::uint64_t product = 1;
        for (const std::uint64_t each : dimensions_) {
            product *= each;
        }
        return static_cast<std::size_t>(product);
    }

    [[nodiscard]] bool read(hid_t type) noexcept {
        return bytes_.empty() || ::H5Aread(attribute_.get(), type, bytes_.data()) >= 0;
    }

    /// Arrays around the elements, which `encode_one(i)` appends.
    template <class EncodeOne>
    [[nodiscard]] const char* encode_elements(cbor_encoder& out, const EncodeOne& encode_one) const {
        constexpr std::size_t most_nested = 8; // the manifest has 32 levels in all
        if (dimensions_.size() > most_nested) {
            return "it has more than 8 dimensions";
        }
        const std::size_t elements = count();
        if (elements == 0) {
            out.begin_array(0);
            return nullptr;
        }
        for (std::size_t i = 0; i < elements; ++i) {
            std::size_t of_array = elements;
            for (const std::uint64_t each : dimensions_) {
                if (i % of_array == 0) {
                    out.begin_array(each);
                }
                of_array /= static_cast<std::size_t>(each);
            }
            encode_one(i);
        }
        return nullptr;
    }

    [[nodiscard]] const char* encode_texts(cbor_encoder& out, hid_t type, hid_t space, std::size_t size) {
        if (!read(type)) {
            return "it can't be read";
        }
        const bool has_any_length = ::H5Tis_variable_str(type) > 0;
        const bool is_padded_by_spaces = ::H5Tget_strpad(type) == H5T_STR_SPACEPAD;
        std::uint64_t taken = 0;
        bool is_too_large = false;
        const char* const refused = encode_elements(out, [&](std::size_t i) {
            std::string_view text(static_cast<const char*>(static_cast<const void*>(bytes_.data() + i * size)), size);
            if (has_any_length) {
                const char* there = nullptr;
                std::memcpy(&there, bytes_.data() + i * size, sizeof there);
                text = there != nullptr ? std::string_view(there) : std::string_view();
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

    [[nodiscard]] const char* encode_numbers(cbor_encoder& out, hid_t type, std::size_t size) {
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
        std::size_t width = size;
        for (const std::uint64_t each : elements.inner_dimensions) {
            dimensions_.push_back(each);
            width /= static_cast<std::size_t>(each);
        }
        return encode_elements(out, [&](std::size_t i) {
            const std::byte* const at = bytes_.data() + i * width;
            encode_number(out, elements.dtype, elements.is_big_endian ? load_big(at, width) : load_little(at, width),
                          width);
        });
    }

    static void encode_number(cbor_encoder& out, std::string_view dtype, std::uint64_t bits, std::size_t width) {
        if (dtype == "bool") {
            return out.boolean(bits != 0);
        }
        if (dtype[0] == 'u') {
            return out.unsigned_integer(bits);
        }
        if (dtype[0] == 'i') {
            const std::uint64_t sign = std::uint64_t{1} << (8 * width - 1);
            const std::uint64_t extended = (bits ^ sign) - sign;
            return extended >> 63 != 0 ? out.negative_integer(~extended) : out.unsigned_integer(extended);
        }
        if (dtype == "f16") {
            return out.number(
                static_cast<double>(static_cast<float>(float16::from_bits(static_cast<std::uint16_t>(bits)))));
        }
        if (dtype == "bf16") {
            return out.number(
                static_cast<double>(static_cast<float>(bfloat16::from_bits(static_cast<std::uint16_t>(bits)))));
        }
        if (dtype == "f32") {
            return out.number(static_cast<double>(number_of<float>(static_cast<std::uint32_t>(bits))));
        }
        out.number(number_of<double>(bits));
    }
    template <class Float, class Bits>
    [[nodiscard]] static Float number_of(Bits bits) noexcept {
        static_assert(sizeof(Float) == sizeof(Bits));
        Float number;
        std::memcpy(&number, &bits, sizeof number);
        return number;
    }

    hdf5_id attribute_;
    std::uint64_t max_bytes_;
    std::vector<std::uint64_t> dimensions_;
    std::vector<std::byte> bytes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
