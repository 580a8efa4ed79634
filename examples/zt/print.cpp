// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "numbers.hpp"
#include "scales.hpp"
#include "terminal.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace zt {
namespace {

struct print_options {
    std::string path;
    std::string name;
    std::string slice;
    std::uint64_t most = 1000;
    input_options input;
};

std::uint64_t parse_index(const std::string& text, const std::string& slice) {
    if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos) {
        throw usage_error("a slice is like 0:4,8:16 or 3,:, not \"" + printable(slice) + '"');
    }
    return std::stoull(text);
}

/// "0:4,8:16": a range for each dimension; "3" is 3:4, and ":" or what is left out all of a dimension.
std::vector<ztensor::index_range> parse_slice(const std::string& text, const ztensor::shape& dimensions) {
    std::vector<ztensor::index_range> ranges;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string each = text.substr(begin, end - begin);
        const std::size_t colon = each.find(':');
        const std::uint64_t most = ranges.size() < dimensions.rank() ? dimensions[ranges.size()] : 0;
        if (colon == std::string::npos) {
            const std::uint64_t at = parse_index(each, text);
            ranges.push_back({at, at + 1});
        } else {
            const std::string first = each.substr(0, colon), last = each.substr(colon + 1);
            ranges.push_back(
                {first.empty() ? 0 : parse_index(first, text), last.empty() ? most : parse_index(last, text)});
        }
        begin = end + 1;
    }
    for (std::size_t i = ranges.size(); i < dimensions.rank(); ++i) {
        ranges.push_back({0, dimensions[i]});
    }
    return ranges;
}

template <class T>
std::string text_of(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        char text[32];
        std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
        return text;
    } else {
        return std::to_string(value);
    }
}

/// A line for each row of the last dimension.
template <class Numbers>
void print_numbers(const Numbers& numbers, std::uint64_t row) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        std::cout << text_of(numbers[i]) << ((i + 1) % row == 0 || i + 1 == numbers.size() ? "\n" : " ");
    }
}

exit_code print_tensor(const print_options& options) {
    const std::vector<ztensor::reader> files = open_inputs(options.path, options.input);
    const ztensor::reader* const found = find_file(files, options.name);
    const ztensor::reader& file = found != nullptr ? *found : files.front(); // which says that it has none
    const ztensor::object_view object = file.find(options.name).value();
    const bool is_in_groups = object.format() == ztensor::format::quantized_group;
    const ztensor::reader numbers = is_in_groups ? with_dense(file, object) : file;
    const std::vector<ztensor::index_range> ranges = parse_slice(options.slice, object.shape());
    const ztensor::selection part = numbers[options.name].slice(ztensor::span<const ztensor::index_range>(ranges));
    const ztensor::shape shape = part.shape().value();
    const std::uint64_t count = shape.element_count().value_or(~std::uint64_t{0});
    if (count > options.most) {
        throw usage_error(grouped(count) + " numbers of shape " + to_string(shape) + " are more than " +
                          grouped(options.most) + ": give a slice, such as 0:4, or --most");
    }
    std::cout << printable(object.name()) << ' ' << to_string(shape) << ' '
              << printable(object.dtype().is_present() ? std::string(object.dtype().text()) : type_of(object)) << '\n';
    if (const std::string scales = scale_finder(files).scales_of(object); !scales.empty()) {
        std::cerr << "zt: these are the values as they are stored: their scales are in " << printable(scales) << '\n';
    }
    const std::uint64_t row = shape.empty() || shape.back() == 0 ? 1 : shape.back();
    const bool is_plain = !object.type().is_present();
    const std::string what = "reading " + options.name;
    if (is_plain && object.dtype() == ztensor::dtype::i64) {
        print_numbers(wait_for(what, [&] { return part.read<std::int64_t>().value(); }), row);
    } else if (is_plain && object.dtype() == ztensor::dtype::u64) {
        print_numbers(wait_for(what, [&] { return part.read<std::uint64_t>().value(); }), row);
    } else {
        print_numbers(wait_for(what, [&] { return part.read_as<double>().value(); }), row);
    }
    return good;
}

} // namespace

void add_print(tool& to) {
    const auto options = std::make_shared<print_options>();
    CLI::App* const command =
        add_command(to, "print", "Print the numbers of a tensor, or of a part of it",
                    "print model.zt encoder.weight 0:4,8:16", [options] { return print_tensor(*options); });
    command->add_option("FILE", options->path, "The file, of any format, or the folder or index of shards")->required();
    command->add_option("NAME", options->name, "The object")->required();
    command->add_option("SLICE", options->slice,
                        "A range for each dimension: 0:4, 3, or : for all; all of it unless given");
    command->add_option("--most", options->most, "How many numbers are printed at most, 1000 unless given")
        ->type_name("COUNT");
    options->input.add_options(*command);
}

} // namespace zt
