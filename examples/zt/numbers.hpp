// SPDX-License-Identifier: MIT
//
// What any object holds as numbers, a piece at a time, whatever it is stored as: integers as they are, all else as
// doubles.
#ifndef ZTENSOR_EXAMPLES_ZT_NUMBERS_HPP
#define ZTENSOR_EXAMPLES_ZT_NUMBERS_HPP

#include <ztensor/ztensor.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace zt {

/// An integer, which may take 64 bits, or a floating-point number.
struct number {
    bool is_integer = false;
    bool is_negative = false;    ///< of an integer
    std::uint64_t magnitude = 0; ///< of an integer
    double value = 0;            ///< the nearest one of an integer
};

/// How far apart two of them are: 0 of equal ones alone, however many digits they have. NaN equals NaN.
double distance(const number& x, const number& y);

/// Weights whose scales are components of their own, as floats. Errors: those of reading, and of what holds none.
ztensor::result<std::vector<float>> dequantized(const ztensor::object_view& object);

/// The file; or, if the object is weights in blocks or in groups, one with a dense tensor of that name in their place.
/// Throws ztensor::exception.
ztensor::reader with_dense(const ztensor::reader& file, const ztensor::object_view& object);

/// Attributes without those that say how the elements are laid out, in the words of one version or one layout.
ztensor::attributes without_layout(const ztensor::object_view& object);

/// The numbers of an object in the order of its shape. Of a complex one both parts of each element.
class number_stream {
public:
    /// Nothing of an object that holds none. Throws ztensor::exception for one that can't be read.
    static std::optional<number_stream> open(const ztensor::object_view& object);

    /// Those that a sparse object stores alone, in their order.
    static std::optional<number_stream> open_stored_values(const ztensor::object_view& sparse);

    /// Empty once all have been given.
    const std::vector<number>& next();

private:
    number_stream() = default;

    std::optional<ztensor::component_pieces> pieces_;
    ztensor::dtype storage_ = ztensor::dtype::f64; ///< of what the pieces hold
    std::vector<number> whole_;                    ///< where there are no pieces
    std::size_t given_ = 0;
    std::vector<number> numbers_;
};

} // namespace zt

#endif
