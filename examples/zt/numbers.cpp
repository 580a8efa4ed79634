// SPDX-License-Identifier: MIT
#include "numbers.hpp"

#include "input.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

namespace zt {
namespace {

number of_double(double value) {
    number made;
    made.value = value;
    return made;
}

number of_integer(bool is_negative, std::uint64_t magnitude) {
    const auto nearest = static_cast<double>(magnitude);
    return {true, is_negative, magnitude, is_negative ? -nearest : nearest};
}

/// A double that is an integer as such, where 64 bits hold it.
number as_integer(const number& from) {
    const double magnitude = std::fabs(from.value);
    constexpr double end = 18446744073709551616.0; // 2^64
    if (from.is_integer || !(magnitude < end) || std::floor(magnitude) != magnitude) {
        return from;
    }
    return of_integer(from.value < 0, static_cast<std::uint64_t>(magnitude));
}

std::uint64_t word_at(ztensor::bytes_view bytes, std::size_t at, std::size_t width) {
    std::uint64_t word = 0;
    for (std::size_t i = width; i-- > 0;) { // little-endian, whatever the host
        word = word << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
    }
    return word;
}

template <class Float, class Bits>
Float float_of(Bits bits) {
    static_assert(sizeof(Float) == sizeof(Bits));
    Float made;
    std::memcpy(&made, &bits, sizeof made);
    return made;
}

number signed_integer(std::uint64_t word, std::size_t width) {
    const std::uint64_t sign = std::uint64_t{1} << (width * 8 - 1);
    const bool is_negative = (word & sign) != 0;
    return of_integer(is_negative, is_negative ? (sign << 1) - word : word); // of eight bytes sign << 1 is 0
}

number number_of(std::uint64_t word, ztensor::dtype storage) {
    switch (storage) {
    case ztensor::dtype::f64:
        return of_double(float_of<double>(word));
    case ztensor::dtype::f32:
        return of_double(static_cast<double>(float_of<float>(static_cast<std::uint32_t>(word))));
    case ztensor::dtype::f16:
        return of_double(static_cast<double>(ztensor::float16::from_bits(static_cast<std::uint16_t>(word))));
    case ztensor::dtype::bf16:
        return of_double(static_cast<double>(ztensor::bfloat16::from_bits(static_cast<std::uint16_t>(word))));
    default:
        return facts(storage).category == ztensor::dtype_class::signed_integer
                   ? signed_integer(word, width_bytes(storage))
                   : of_integer(false, word);
    }
}

/// Elements that are what their storage type says, or made of several such.
bool is_plain(const ztensor::component_view& part) {
    return part.dtype().is_known() && (!part.type().is_present() || part.type() == ztensor::logical_type::complex64 ||
                                       part.type() == ztensor::logical_type::complex128);
}

template <class T>
number number_of_value(T value) {
    if constexpr (std::is_integral_v<T>) {
        const bool is_negative = value < 0;
        const auto bits = static_cast<std::uint64_t>(value);
        return of_integer(is_negative, is_negative ? 0 - bits : bits);
    } else {
        return of_double(static_cast<double>(value));
    }
}

template <class Values>
std::vector<number> numbers_of(const Values& values) {
    std::vector<number> out;
    out.reserve(values.size());
    for (const auto each : values) {
        out.push_back(number_of_value(each));
    }
    return out;
}

/// All elements of a sparse object, or only those that it stores.
template <class T>
std::vector<number> sparse_numbers(const ztensor::object_view& object, bool with_zeros) {
    const auto taken = [&](const auto& sparse) {
        return with_zeros ? numbers_of(sparse.to_dense().value()) : numbers_of(sparse.values());
    };
    return object.format() == ztensor::format::sparse_csr ? taken(ztensor::csr_view<T>::read(object).value())
                                                          : taken(ztensor::coo_view<T>::read(object).value());
}

std::optional<std::vector<number>> sparse_numbers(const ztensor::object_view& object, bool with_zeros) {
    const auto values = values_of(object);
    if (!values || !is_plain(*values) || values->type().text().substr(0, 7) == "complex") {
        return std::nullopt;
    }
    switch (*values->dtype().known()) {
    case ztensor::dtype::f64:
        return sparse_numbers<double>(object, with_zeros);
    case ztensor::dtype::f32:
        return sparse_numbers<float>(object, with_zeros);
    case ztensor::dtype::f16:
        return sparse_numbers<ztensor::float16>(object, with_zeros);
    case ztensor::dtype::bf16:
        return sparse_numbers<ztensor::bfloat16>(object, with_zeros);
    case ztensor::dtype::i64:
        return sparse_numbers<std::int64_t>(object, with_zeros);
    case ztensor::dtype::i32:
        return sparse_numbers<std::int32_t>(object, with_zeros);
    case ztensor::dtype::i16:
        return sparse_numbers<std::int16_t>(object, with_zeros);
    case ztensor::dtype::i8:
        return sparse_numbers<std::int8_t>(object, with_zeros);
    case ztensor::dtype::u64:
        return sparse_numbers<std::uint64_t>(object, with_zeros);
    case ztensor::dtype::u32:
        return sparse_numbers<std::uint32_t>(object, with_zeros);
    case ztensor::dtype::u16:
        return sparse_numbers<std::uint16_t>(object, with_zeros);
    default:
        return sparse_numbers<std::uint8_t>(object, with_zeros);
    }
}

/// Of an object whose numbers come from several components.
std::optional<std::vector<number>> whole_numbers(const ztensor::object_view& object) {
    if (is_sparse(object)) {
        return sparse_numbers(object, true);
    }
    const auto weights = dequantized(object);
    return weights ? std::optional(numbers_of(*weights)) : std::nullopt;
}

} // namespace

ztensor::result<std::vector<float>> dequantized(const ztensor::object_view& object) {
    // Both ways to compute weights of one version make the same floats.
    const auto quantized = ztensor::quantized_view::from(object);
    return quantized ? quantized->dequantize() : object.read_as<float>();
}

ztensor::reader with_dense(const ztensor::reader& file, const ztensor::object_view& object) {
    if (object.format() == ztensor::format::dense || is_sparse(object)) {
        return file;
    }
    auto to = ztensor::writer::to_memory().value();
    to.add(object.name(), object.shape(), dequantized(object).value()).value();
    to.finish().value();
    return ztensor::reader::from_bytes(to.take_bytes()).value();
}

ztensor::attributes without_layout(const ztensor::object_view& object) {
    ztensor::attributes kept(object.attributes());
    const auto format = object.format().known();
    if (format == ztensor::format::quantized_group || format == ztensor::format::mx) {
        for (const char* const key :
             {"bits", "group_size", "packing", "axis", "scale_form", "zero_point", "block_size"}) {
            kept.remove(key);
        }
    } else if (!format && object.format().text().substr(0, 5) == "gguf.") {
        kept.remove("block_bytes");
        kept.remove("elems_per_block");
    }
    return kept;
}

double distance(const number& x, const number& y) {
    const bool has_integer = x.is_integer || y.is_integer;
    const number a = has_integer ? as_integer(x) : x, b = has_integer ? as_integer(y) : y;
    if (std::isnan(a.value) || std::isnan(b.value)) {
        return std::isnan(a.value) && std::isnan(b.value) ? 0 : HUGE_VAL;
    }
    if (!a.is_integer && !b.is_integer) {
        return a.value == b.value ? 0 : std::fabs(a.value - b.value); // of infinities no number
    }
    if (!a.is_integer || !b.is_integer) { // one of them no integer, or none of 64 bits: they differ, however they round
        const double apart = std::fabs(a.value - b.value);
        return apart == 0 ? 1 : apart;
    }
    if (a.is_negative != b.is_negative) {
        return static_cast<double>(a.magnitude) + static_cast<double>(b.magnitude);
    }
    return static_cast<double>(std::max(a.magnitude, b.magnitude) - std::min(a.magnitude, b.magnitude));
}

std::optional<number_stream> number_stream::open(const ztensor::object_view& object) {
    number_stream made;
    const auto data = object.data();
    const bool is_dense = object.format() == ztensor::format::dense && data;
    if (is_dense && is_plain(*data)) {
        made.storage_ = *data->dtype().known();
        auto pieces = ztensor::component_pieces::open(*data);
        if (!pieces && pieces.error().kind() == ztensor::error_kind::unsupported) {
            return std::nullopt;
        }
        made.pieces_.emplace(std::move(pieces).value());
        return made;
    }
    if (auto pieces = ztensor::component_pieces::open_as(object, ztensor::dtype::f64)) {
        made.pieces_.emplace(*std::move(pieces));
        return made;
    }
    auto whole = is_dense ? std::nullopt : whole_numbers(object);
    if (!whole) {
        return std::nullopt;
    }
    made.whole_ = *std::move(whole);
    return made;
}

std::optional<number_stream> number_stream::open_stored_values(const ztensor::object_view& sparse) {
    auto values = sparse_numbers(sparse, false);
    if (!values) {
        return std::nullopt;
    }
    number_stream made;
    made.whole_ = *std::move(values);
    return made;
}

const std::vector<number>& number_stream::next() {
    numbers_.clear();
    if (!pieces_) {
        const std::size_t end = std::min(whole_.size(), given_ + (std::size_t{1} << 16));
        for (; given_ < end; ++given_) {
            numbers_.push_back(whole_[given_]);
        }
        return numbers_;
    }
    const ztensor::bytes_view piece = pieces_->next().value();
    const std::size_t width = width_bytes(storage_);
    numbers_.reserve(piece.size() / width);
    for (std::size_t at = 0; at + width <= piece.size(); at += width) {
        numbers_.push_back(number_of(word_at(piece, at, width), storage_));
    }
    return numbers_;
}

} // namespace zt
