// SPDX-License-Identifier: MIT
//
// Quantized checkpoints whose scales are tensors of their own, told by names: the codes alone are no weights, so what
// gives numbers refuses them unless the values as they are stored were asked for.
#ifndef ZTENSOR_EXAMPLES_ZT_SCALES_HPP
#define ZTENSOR_EXAMPLES_ZT_SCALES_HPP

#include <ztensor/ztensor.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace zt {

/// All names in some files, among which scales are looked for. Borrows from the files.
class scale_finder {
public:
    explicit scale_finder(const std::vector<ztensor::reader>& files);

    /// The name of a tensor that the codes in `object` are to be multiplied by; "" of what holds no such codes.
    [[nodiscard]] std::string scales_of(const ztensor::object_view& object) const;

private:
    [[nodiscard]] bool has(const std::string& name) const;

    std::vector<std::string_view> names_; ///< sorted
};

/// --raw-values: numbers of codes are given without their scales.
void add_raw_values_option(CLI::App& command, bool& takes_raw_values);

/// Throws content_error if objects of `files` that `takes` selects are codes with scales beside them, naming the first
/// few. `what` says what would be made of them.
void refuse_codes(const std::vector<ztensor::reader>& files, const std::string& what,
                  const std::function<bool(const ztensor::object_view&)>& takes);

} // namespace zt

#endif
