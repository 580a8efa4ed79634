// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "selection.hpp"
#include "terminal.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zt {
namespace {

struct diff_options {
    std::string a;
    std::string b;
    std::optional<double> tolerance;
    bool compares_attributes = true;
    selection selected;
};

/// Two components of equal length piece by piece, whatever pieces each comes in: `compare` gets as many bytes of both.
template <class Compare>
void in_step(ztensor::component_pieces a, ztensor::component_pieces b, const Compare& compare) {
    ztensor::bytes_view of_a, of_b;
    for (;;) {
        of_a = of_a.empty() ? a.next().value() : of_a;
        of_b = of_b.empty() ? b.next().value() : of_b;
        const std::size_t both = std::min(of_a.size(), of_b.size());
        if (both == 0) {
            return;
        }
        compare(of_a.first(both), of_b.first(both));
        of_a = of_a.subspan(both);
        of_b = of_b.subspan(both);
    }
}

std::uint64_t word_at(ztensor::bytes_view bytes, std::size_t at) {
    std::uint64_t word = 0;
    for (std::size_t i = sizeof word; i-- > 0;) {
        word = word << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
    }
    return word;
}

double number_at(ztensor::bytes_view bytes, std::size_t at) {
    const std::uint64_t bits = word_at(bytes, at);
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    return number;
}

/// What differs between the bytes of two components of one type and size; "" if nothing does.
std::string difference_of_bytes(const ztensor::component_view& a, const ztensor::component_view& b) {
    if (!a.encoding() || !b.encoding()) {
        return a.encoding_name() == b.encoding_name() ? "" : "encodings that can't be compared";
    }
    const std::size_t width = a.dtype() ? ztensor::width_bytes(*a.dtype()) : 1;
    std::uint64_t differing = 0, count = 0;
    in_step(ztensor::component_pieces::open(a).value(), ztensor::component_pieces::open(b).value(),
            [&](ztensor::bytes_view of_a, ztensor::bytes_view of_b) {
                count += of_a.size() / width;
                if (std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end())) {
                    return;
                }
                for (std::size_t at = 0; at + width <= of_a.size(); at += width) {
                    differing += std::memcmp(of_a.data() + at, of_b.data() + at, width) != 0 ? 1 : 0;
                }
            });
    return differing == 0 ? "" : grouped(differing) + " of " + grouped(count) + " elements differ";
}

/// The same of numbers, of components or of objects, whatever they are stored as. NaN equals NaN.
template <class Numbers>
std::string difference_of_numbers(const Numbers& a, const Numbers& b, double tolerance) {
    double most = 0;
    std::uint64_t differing = 0, count = 0;
    in_step(ztensor::component_pieces::open_as(a, ztensor::dtype::f64).value(),
            ztensor::component_pieces::open_as(b, ztensor::dtype::f64).value(),
            [&](ztensor::bytes_view of_a, ztensor::bytes_view of_b) {
                for (std::size_t at = 0; at < of_a.size(); at += sizeof(double), ++count) {
                    const double x = number_at(of_a, at), y = number_at(of_b, at);
                    const bool is_same = x == y || (std::isnan(x) && std::isnan(y));
                    if (!is_same && !(std::fabs(x - y) <= tolerance)) {
                        ++differing;
                        most = std::max(most, std::isnan(x - y) ? HUGE_VAL : std::fabs(x - y));
                    }
                }
            });
    char text[64];
    std::snprintf(text, sizeof text, ", by at most %.6g", most);
    return differing == 0 ? "" : grouped(differing) + " of " + grouped(count) + " elements differ" + text;
}

bool is_in_blocks(const ztensor::object_view& object) {
    return !object.known_format() && ztensor::component_pieces::open_as(object, ztensor::dtype::f64);
}

/// One of them is blocks of weights, of which the other holds as many numbers in whatever way.
bool differ_in_blocks(const ztensor::object_view& a, const ztensor::object_view& b) {
    const bool has_both = ztensor::component_pieces::open_as(a, ztensor::dtype::f64).has_value() &&
                          ztensor::component_pieces::open_as(b, ztensor::dtype::f64).has_value();
    return has_both && (is_in_blocks(a) || is_in_blocks(b));
}

class comparison {
public:
    explicit comparison(const diff_options& options)
        : options_(options), a_(open_inputs(options.a)), b_(open_inputs(options.b)) {}

    exit_code run(selection& selected) {
        check_selection(selected);
        compare_objects(selected);
        for (const ztensor::reader& file : b_) {
            for (const ztensor::object_view object : file) {
                if (selected.takes(object) && find_file(a_, object.name()) == nullptr) {
                    tell(object, "only in " + options_.b);
                }
            }
        }
        if (options_.compares_attributes && a_.size() == 1 && b_.size() == 1) {
            compare_attributes(a_.front().attributes(), b_.front().attributes(), "the file");
        }
        return differences_ == 0 ? good : bad;
    }

private:
    void tell(const ztensor::object_view& object, const std::string& what) {
        std::cout << printable(object.name()) << ": " << what << '\n';
        ++differences_;
    }

    void check_selection(selection& selected) const {
        std::vector<ztensor::reader> both = a_;
        both.insert(both.end(), b_.begin(), b_.end());
        selected.check(both);
    }

    void compare_objects(const selection& selected) {
        std::uint64_t total = 0, done = 0;
        for (const ztensor::reader& file : a_) {
            for (const ztensor::object_view object : file) {
                total += stored_bytes_of(object);
            }
        }
        progress_line progress;
        for (const ztensor::reader& file : a_) {
            for (const ztensor::object_view object : file) {
                progress.show(done, total, object.name());
                done += stored_bytes_of(object);
                if (selected.takes(object)) {
                    compare(object);
                }
            }
        }
    }

    void compare(const ztensor::object_view& object) {
        const ztensor::reader* const other = find_file(b_, object.name());
        if (other == nullptr) {
            return tell(object, "only in " + options_.a);
        }
        const auto twin = other->find(object.name());
        if (object.shape() != twin->shape()) {
            return tell(object, "shape " + to_string(object.shape()) + " and " + to_string(twin->shape()));
        }
        if (options_.tolerance && differ_in_blocks(object, *twin)) {
            const std::string what = difference_of_numbers(object, *twin, *options_.tolerance);
            return what.empty() ? void() : tell(object, what);
        }
        if (object.format() != twin->format()) {
            return tell(object, "format " + printable(object.format()) + " and " + printable(twin->format()));
        }
        for (const ztensor::component_view part : object) {
            const auto of_twin = twin->component(part.role());
            if (!of_twin) {
                tell(object, "component " + printable(part.role()) + " only in " + options_.a);
            } else {
                compare(object, part, *of_twin);
            }
        }
        if (twin->size() > object.size()) {
            tell(object, "more components in " + options_.b);
        }
        if (options_.compares_attributes) {
            compare_attributes(object.attributes(), twin->attributes(), printable(object.name()));
        }
    }

    void compare(const ztensor::object_view& object, const ztensor::component_view& a,
                 const ztensor::component_view& b) {
        const bool are_numbers = options_.tolerance && object.known_format() == ztensor::format::dense;
        const std::string place = object.size() > 1 ? printable(a.role()) + ": " : "";
        if (!are_numbers && (a.dtype_name() != b.dtype_name() || a.type() != b.type())) {
            return tell(object, place + "type " + printable(type_of(a)) + " and " + printable(type_of(b)));
        }
        const std::string what =
            are_numbers ? difference_of_numbers(a, b, *options_.tolerance) : difference_of_bytes(a, b);
        if (!what.empty()) {
            tell(object, place + what);
        }
    }

    void compare_attributes(const ztensor::attributes_view& a, const ztensor::attributes_view& b,
                            const std::string& of) {
        const ztensor::attributes sorted_a(a), sorted_b(b);
        const auto same = [](const auto& x, const auto& y) { return x.key == y.key && x.cbor == y.cbor; };
        if (!std::equal(sorted_a.values().begin(), sorted_a.values().end(), sorted_b.values().begin(),
                        sorted_b.values().end(), same)) {
            std::cout << "attributes of " << of << " differ\n";
            ++differences_;
        }
    }

    const diff_options& options_;
    std::vector<ztensor::reader> a_;
    std::vector<ztensor::reader> b_;
    std::uint64_t differences_ = 0;
};

} // namespace

void add_diff(tool& to) {
    const auto options = std::make_shared<diff_options>();
    CLI::App* const command = add_command(
        to, "diff", "Compare what two files of any format hold; a difference makes the exit code 1",
        "diff model.safetensors model.zt", [options] { return comparison(*options).run(options->selected); });
    command->add_option("A", options->a, "A file, or the folder or index of shards")->required();
    command->add_option("B", options->b, "Another one")->required();
    command
        ->add_option("--tolerance", options->tolerance,
                     "Compare numbers, whatever their type, and let them differ by so much")
        ->type_name("NUMBER")
        ->check(CLI::NonNegativeNumber);
    command->add_flag("!--ignore-attributes", options->compares_attributes, "Compare no attributes");
    options->selected.add_options(*command);
}

} // namespace zt
