// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "numbers.hpp"
#include "selection.hpp"
#include "terminal.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

/// Two components piece by piece, whatever pieces each comes in: `compare` gets as many bytes of both. False if one of
/// them is longer.
template <class Compare>
bool in_step(ztensor::component_pieces a, ztensor::component_pieces b, const Compare& compare) {
    ztensor::bytes_view of_a, of_b;
    for (;;) {
        of_a = of_a.empty() ? a.next().value() : of_a;
        of_b = of_b.empty() ? b.next().value() : of_b;
        const std::size_t both = std::min(of_a.size(), of_b.size());
        if (both == 0) {
            return of_a.size() == of_b.size();
        }
        compare(of_a.first(both), of_b.first(both));
        of_a = of_a.subspan(both);
        of_b = of_b.subspan(both);
    }
}

/// Stored bytes of what can't be decoded.
std::string difference_of_stored(const ztensor::component_view& a, const ztensor::component_view& b) {
    if (a.stored_bytes() != b.stored_bytes() || a.encoding().text() != b.encoding().text()) {
        return "encodings that can't be compared";
    }
    constexpr std::uint64_t most = std::uint64_t{1} << 20;
    for (std::uint64_t done = 0; done < a.stored_bytes();) {
        const auto size = static_cast<std::size_t>(std::min(most, a.stored_bytes() - done));
        std::vector<std::byte> of_a(size), of_b(size);
        a.read_stored_into(of_a, done).value();
        b.read_stored_into(of_b, done).value();
        if (of_a != of_b) {
            return "stored bytes differ";
        }
        done += size;
    }
    return "";
}

std::string count_text(std::uint64_t differing, std::uint64_t count) {
    return differing == 0 ? "" : grouped(differing) + " of " + grouped(count) + " elements differ";
}

/// What differs between the bytes of two components of one type; "" if nothing does.
std::string difference_of_bytes(const ztensor::component_view& a, const ztensor::component_view& b) {
    const bool has_order = (a.dtype().is_known() && b.dtype().is_known()) || (!a.is_big_endian() && !b.is_big_endian());
    if (!a.encoding().is_known() || !b.encoding().is_known() || !has_order) {
        return difference_of_stored(a, b);
    }
    const std::size_t width = a.dtype().is_known() ? ztensor::width_bytes(*a.dtype().known()) : 1;
    std::uint64_t differing = 0, count = 0;
    const bool are_as_many =
        in_step(ztensor::component_pieces::open(a).value(), ztensor::component_pieces::open(b).value(),
                [&](ztensor::bytes_view of_a, ztensor::bytes_view of_b) {
                    count += of_a.size() / width;
                    if (std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end())) {
                        return;
                    }
                    for (std::size_t at = 0; at < of_a.size(); at += width) {
                        const std::size_t size = std::min(width, of_a.size() - at);
                        differing += std::memcmp(of_a.data() + at, of_b.data() + at, size) != 0 ? 1 : 0;
                    }
                });
    return are_as_many ? count_text(differing, count) : "sizes differ";
}

/// The same of numbers, whatever they are stored as. NaN equals NaN.
std::string difference_of_numbers(number_stream a, number_stream b, double tolerance) {
    double most = 0;
    std::uint64_t differing = 0, count = 0;
    std::vector<number> of_a, of_b; // what is left of the last pieces
    std::size_t at_a = 0, at_b = 0;
    for (;; ++count, ++at_a, ++at_b) {
        if (at_a == of_a.size()) {
            of_a = a.next();
            at_a = 0;
        }
        if (at_b == of_b.size()) {
            of_b = b.next();
            at_b = 0;
        }
        if (of_a.empty() || of_b.empty()) {
            break;
        }
        const double apart = distance(of_a[at_a], of_b[at_b]);
        differing += apart <= tolerance ? 0 : 1;
        most = std::max(most, apart);
    }
    if (of_a.size() != of_b.size()) {
        return "sizes differ";
    }
    char text[64];
    std::snprintf(text, sizeof text, ", by at most %.6g", most);
    return differing == 0 ? "" : count_text(differing, count) + text;
}

template <class A, class B>
bool are_same(const A& a, const B& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool have_same_indices(const ztensor::csr_view<std::byte>& a, const ztensor::csr_view<std::byte>& b) {
    return are_same(a.indptr(), b.indptr()) && are_same(a.indices(), b.indices());
}
bool have_same_indices(const ztensor::coo_view<std::byte>& a, const ztensor::coo_view<std::byte>& b) {
    return are_same(a.coords(), b.coords());
}

template <class Sparse>
bool have_same_indices(const ztensor::object_view& a, const ztensor::object_view& b) {
    const auto of_a = Sparse::read(a), of_b = Sparse::read(b);
    for (const auto* const each : {&of_a, &of_b}) {
        if (!*each && each->error().kind() == ztensor::error_kind::unsupported) { // such as values that share bytes
            return false;
        }
    }
    return have_same_indices(of_a.value(), of_b.value());
}

bool have_same_indices(const ztensor::object_view& a, const ztensor::object_view& b) {
    return a.format() == ztensor::format::sparse_csr ? have_same_indices<ztensor::csr_view<std::byte>>(a, b)
                                                     : have_same_indices<ztensor::coo_view<std::byte>>(a, b);
}

template <class Sparse>
bool have_same_values(const Sparse& a, const Sparse& b) {
    return are_same(a.values(), b.values());
}

/// Of sparse tensors of one layout and one type, whatever each version makes of them.
template <class Value>
std::string difference_of_sparse(const ztensor::object_view& a, const ztensor::object_view& b) {
    using csr = ztensor::csr_view<Value>;
    using coo = ztensor::coo_view<Value>;
    if (!have_same_indices(a, b)) {
        return "indices differ";
    }
    const bool has_same_values = a.format() == ztensor::format::sparse_csr
                                     ? have_same_values(csr::read(a).value(), csr::read(b).value())
                                     : have_same_values(coo::read(a).value(), coo::read(b).value());
    return has_same_values ? "" : "values differ";
}

/// The layout in one word, whatever the version calls it.
std::string layout_of(const ztensor::object_view& object) {
    return std::string(object.format().text());
}

/// The same of what elements are.
std::string meaning_of(const ztensor::component_view& part) {
    const std::string type = type_of(part);
    return type == "f4_e2m1" ? "f4" : type;
}

/// The same part in the words of another version.
ztensor::result<ztensor::component_view> find_part(const ztensor::object_view& object, std::string_view role) {
    auto part = object.component(role);
    if (!part && object.format() == ztensor::format::quantized_group) {
        return object.component(role == "data" ? "packed_weight" : role == "packed_weight" ? "data" : role);
    }
    return part;
}

/// What those say of quantized weights, in the words of neither version.
bool are_quantized_alike(const ztensor::object_view& a, const ztensor::object_view& b) {
    const auto of_a = ztensor::quantized_view::from(a), of_b = ztensor::quantized_view::from(b);
    return of_a && of_b && of_a->bits() == of_b->bits() && of_a->group_size() == of_b->group_size() &&
           of_a->axis() == of_b->axis() && of_a->has_zeros() == of_b->has_zeros();
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
                if (selected.takes(object) && in_a_.count(object.name()) == 0) {
                    tell(object, "only in " + name_of_b_);
                }
            }
        }
        if (options_.compares_attributes && a_.size() == 1 && b_.size() == 1) {
            compare_attributes(ztensor::attributes(a_.front().attributes()),
                               ztensor::attributes(b_.front().attributes()), "the file");
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
        const auto other = in_b_.find(object.name());
        if (other == in_b_.end()) {
            return tell(object, "only in " + name_of_a_);
        }
        const auto twin = other->second->find(object.name());
        if (object.shape() != twin->shape()) {
            return tell(object, "shape " + to_string(object.shape()) + " and " + to_string(twin->shape()));
        }
        const bool is_same_layout = layout_of(object) == layout_of(*twin);
        if (!options_.tolerance || !compare_numbers(object, *twin)) {
            if (!is_same_layout) {
                return tell(object,
                            "format " + printable(object.format().text()) + " and " + printable(twin->format().text()));
            }
            compare_stored(object, *twin);
        }
        if (!options_.compares_attributes) {
            return;
        }
        const bool has_same_words = object.format().original() == twin->format().original();
        compare_attributes(has_same_words ? ztensor::attributes(object.attributes()) : without_layout(object),
                           has_same_words ? ztensor::attributes(twin->attributes()) : without_layout(*twin),
                           printable(object.name()));
    }

    /// False if one of them holds no numbers, or only one of them numbers of two parts.
    bool compare_numbers(const ztensor::object_view& object, const ztensor::object_view& twin) {
        const auto are_complex = [](const ztensor::object_view& each) {
            const auto elements = elements_of(each);
            return elements && elements->type().text().substr(0, 7) == "complex";
        };
        if (are_complex(object) != are_complex(twin)) {
            return false;
        }
        // With the same indices sparse tensors need not become dense ones, which memory may not hold.
        const bool are_alike = is_sparse(object) && object.format() == twin.format();
        const bool only_values = are_alike && have_same_indices(object, twin);
        const auto open = only_values ? number_stream::open_stored_values : number_stream::open;
        auto of_object = open(object), of_twin = open(twin);
        if (!of_object || !of_twin) {
            return false;
        }
        const std::string what = difference_of_numbers(*std::move(of_object), *std::move(of_twin), *options_.tolerance);
        if (!what.empty()) {
            tell(object, what);
        }
        return true;
    }

    void compare_stored(const ztensor::object_view& object, const ztensor::object_view& twin) {
        if (is_sparse(object) && have_other_words(object, twin)) {
            return compare_sparse(object, twin);
        }
        if (object.format() != twin.format() && object.format() == ztensor::format::quantized_group &&
            !are_quantized_alike(object, twin)) {
            return tell(object, "parameters of quantization differ");
        }
        for (const ztensor::component_view& part : parts_of(object)) {
            const auto of_twin = find_part(twin, part.role());
            if (!of_twin) {
                tell(object, "component " + printable(part.role()) + " only in " + name_of_a_);
            } else {
                compare(object, part, *of_twin);
            }
        }
        if (parts_of(twin).size() > parts_of(object).size()) {
            tell(object, "more components in " + name_of_b_);
        }
    }

    /// Parts that are there in one version alone, or integers of another size.
    static bool have_other_words(const ztensor::object_view& object, const ztensor::object_view& twin) {
        for (const ztensor::component_view part : object) {
            const auto of_twin = twin.component(part.role());
            if (!of_twin || meaning_of(part) != meaning_of(*of_twin)) {
                return true;
            }
        }
        const bool is_of_0_1 = !object["values"].is_present() || !twin["values"].is_present(); // one blob holds all
        return object.size() != twin.size() || is_of_0_1;
    }

    void compare_sparse(const ztensor::object_view& object, const ztensor::object_view& twin) {
        const std::string of_object = meaning_of(values_of(object).value()),
                          of_twin = meaning_of(values_of(twin).value());
        const std::string what = of_object != of_twin  ? "type " + printable(of_object) + " and " + printable(of_twin)
                                 : of_object == "bool" ? difference_of_sparse<bool>(object, twin)
                                                       : difference_of_sparse<std::byte>(object, twin);
        if (!what.empty()) {
            tell(object, what);
        }
    }

    void compare(const ztensor::object_view& object, const ztensor::component_view& a,
                 const ztensor::component_view& b) {
        const std::string place = object.size() > 1 ? printable(a.role()) + ": " : "";
        const bool are_bools = meaning_of(a) == "bool" && meaning_of(b) == "bool";
        const bool has_other_storage = a.dtype() != b.dtype();
        if (meaning_of(a) != meaning_of(b) || (has_other_storage && !are_bools)) {
            return tell(object, place + "type " + printable(type_of(a)) + " and " + printable(type_of(b)));
        }
        const std::string what = difference_of_bytes(a, b);
        if (!what.empty()) {
            tell(object, place + what);
        }
    }

    void compare_attributes(const ztensor::attributes& a, const ztensor::attributes& b, const std::string& of) {
        const auto same = [](const auto& x, const auto& y) { return x.key == y.key && x.cbor == y.cbor; };
        if (!std::equal(a.values().begin(), a.values().end(), b.values().begin(), b.values().end(), same)) {
            std::cout << "attributes of " << of << " differ\n";
            ++differences_;
        }
    }

    const diff_options& options_;
    std::vector<ztensor::reader> a_;
    std::vector<ztensor::reader> b_;
    file_map in_a_ = files_by_name(a_);
    file_map in_b_ = files_by_name(b_);
    std::string name_of_a_ = printable(name_of_input(options_.a));
    std::string name_of_b_ = printable(name_of_input(options_.b));
    std::uint64_t differences_ = 0;
};

exit_code diff_files(diff_options& options) {
    if (options.tolerance && !(*options.tolerance >= 0)) { // NaN is not
        throw usage_error("--tolerance takes a number from 0 on");
    }
    return comparison(options).run(options.selected);
}

} // namespace

void add_diff(tool& to) {
    const auto options = std::make_shared<diff_options>();
    CLI::App* const command =
        add_command(to, "diff", "Compare what two files of any format hold; a difference makes the exit code 1",
                    "diff model.safetensors model.zt", [options] { return diff_files(*options); });
    command->add_option("A", options->a, "A file, or the folder or index of shards")->required();
    command->add_option("B", options->b, "Another one")->required();
    command
        ->add_option("--tolerance", options->tolerance,
                     "Compare numbers, whatever their type, and let them differ by so much")
        ->type_name("NUMBER");
    command->add_flag("!--ignore-attributes", options->compares_attributes, "Compare no attributes");
    options->selected.add_options(*command);
}

} // namespace zt
