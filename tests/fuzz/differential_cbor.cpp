// SPDX-License-Identifier: MIT
//
// The CBOR cursor beside libcbor and nlohmann/json: what is one well-formed item, and where it ends. All inputs of one
// to three bytes, and as many random ones as the command line says. A difference that is not on the list below is an
// error.
#include "fuzz/cbor_tree.hpp"

#include <ztensor/detail/cbor/cursor.hpp>

#include <nlohmann/json.hpp>

#include <cbor.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace {

using fuzzing::item;
using fuzzing::kind;

/// How many bytes the first item takes; nothing if it is refused.
using extent = std::optional<std::size_t>;

ztensor::bytes_view as_bytes(std::string_view text) {
    return {static_cast<const std::byte*>(static_cast<const void*>(text.data())), text.size()};
}

struct own_answer {
    extent taken;
    ztensor::detail::cbor_fault fault;
};

own_answer by_cursor(std::string_view input) {
    ztensor::detail::cbor_cursor cursor(as_bytes(input));
    const bool taken = cursor.skip();
    return {taken ? extent(cursor.position()) : std::nullopt, cursor.fault()};
}

bool says(const own_answer& refusal, std::string_view words) {
    return std::string_view(refusal.fault.sentence).find(words) != std::string_view::npos;
}

extent by_libcbor(std::string_view input) {
    cbor_load_result outcome;
    cbor_item_t* made =
        cbor_load(static_cast<cbor_data>(static_cast<const void*>(input.data())), input.size(), &outcome);
    if (made == nullptr) {
        return std::nullopt;
    }
    cbor_decref(&made);
    return outcome.read;
}

/// Takes every event and keeps nothing.
struct no_events : nlohmann::json_sax<nlohmann::json> {
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override { return true; }
    bool key(string_t&) override { return true; }
    bool end_object() override { return true; }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }
};

/// Whether it takes exactly the first `size` bytes for an item, or, without a size, any number of them.
bool is_taken_by_nlohmann(std::string_view input, extent size) {
    no_events events;
    const std::string_view seen = size ? input.substr(0, *size) : input;
    return nlohmann::json::sax_parse(seen.begin(), seen.end(), &events, nlohmann::json::input_format_t::cbor,
                                     size.has_value());
}

template <class Holds>
bool any_item(const item& root, const Holds& holds) {
    return holds(root) || std::any_of(root.children.begin(), root.children.end(),
                                      [&](const item& child) { return any_item(child, holds); });
}

bool is_simple(const item& each, std::uint64_t first, std::uint64_t last) {
    return each.kind == kind::simple && each.argument_bytes <= 1 && each.argument >= first && each.argument <= last;
}

/// Why nlohmann refuses what is well-formed; nothing if it should not.
const char* nlohmann_limit(const item& root) {
    if (any_item(root, [](const item& each) { return is_simple(each, 0, 19) || is_simple(each, 23, 255); })) {
        return "nlohmann knows no simple values but false, true and null";
    }
    if (any_item(root, [](const item& each) { return each.kind == kind::tag; })) {
        return "nlohmann takes no tags unless told to";
    }
    if (any_item(root, [](const item& each) {
            for (std::size_t i = 0; i < each.children.size() && each.kind == kind::map; i += 2) {
                if (each.children[i].kind != kind::text) {
                    return true;
                }
            }
            return false;
        })) {
        return "nlohmann's keys are texts";
    }
    return nullptr;
}

/// Why libcbor refuses what is well-formed.
const char* libcbor_limit(const item& root) {
    if (any_item(root, [](const item& each) {
            return is_simple(each, 0, 19) || (each.kind == kind::simple && each.argument_bytes == 1);
        })) {
        return "libcbor knows no unassigned simple values";
    }
    if (any_item(root, [](const item& each) {
            return each.kind == kind::tag && each.argument_bytes == 0 && each.argument >= 6 && each.argument <= 20;
        })) {
        return "libcbor before 0.11 knows no tags from 6 to 20";
    }
    if (any_item(root,
                 [](const item& each) { return each.kind == kind::text && !ztensor::detail::is_utf8(each.content); })) {
        return "libcbor looks for UTF-8 where a text is passed over; we do where it is read";
    }
    return nullptr;
}

class comparison {
public:
    void look_at(std::string_view input) {
        ++count_;
        const own_answer own = by_cursor(input);
        // libcbor first clears memory for as many items as a head claims: 34 GB for five bytes.
        const bool claims_too_much = !own.taken && says(own, "claims more items");
        const extent libcbor = claims_too_much ? std::nullopt : by_libcbor(input);
        if (own.taken) {
            ++taken_;
            const bool nlohmann = is_taken_by_nlohmann(input, own.taken);
            if (libcbor != own.taken || !nlohmann) {
                const std::optional<item> root = fuzzing::parse_item(input.substr(0, *own.taken));
                if (libcbor != own.taken) {
                    explain("libcbor refuses", input, root ? libcbor_limit(*root) : nullptr);
                }
                if (!nlohmann) {
                    explain("nlohmann refuses", input, root ? nlohmann_limit(*root) : nullptr);
                }
            }
            return;
        }
        const bool is_too_deep = own.fault.code == ztensor::errc::cbor_depth;
        const bool is_in_chunks = std::string_view(own.fault.sentence).find("chunk") != std::string_view::npos;
        const bool is_simple_in_two =
            std::string_view(own.fault.sentence).find("simple value below") != std::string_view::npos;
        if (libcbor) {
            explain("libcbor takes", input, is_too_deep ? "only we limit nesting to 64" : nullptr);
        }
        if (is_taken_by_nlohmann(input, std::nullopt)) {
            explain("nlohmann takes", input,
                    is_too_deep        ? "only we limit nesting to 64"
                    : is_in_chunks     ? "nlohmann lets chunks be of indefinite length themselves"
                    : is_simple_in_two ? "nlohmann takes simple values below 32 in two bytes"
                                       : nullptr);
        }
    }

    [[nodiscard]] bool report() const {
        std::printf("%zu inputs, %zu of them start with an item\n", count_, taken_);
        for (const auto& [reason, times] : explained_) {
            std::printf("%10zu  %s\n", times, reason.c_str());
        }
        std::printf("%10zu  differences nobody expected\n", unexplained_);
        return unexplained_ == 0;
    }

private:
    void explain(const char* what, std::string_view input, const char* reason) {
        if (reason != nullptr) {
            ++explained_[reason];
            return;
        }
        if (++unexplained_ <= 20) {
            std::printf("%s:", what);
            for (const char byte : input) {
                std::printf(" %02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
            }
            std::printf("\n");
        }
    }

    std::size_t count_ = 0;
    std::size_t taken_ = 0;
    std::size_t unexplained_ = 0;
    std::map<std::string, std::size_t> explained_;
};

/// Every byte string of `size` bytes.
void look_at_all(comparison& all, std::size_t size) {
    std::string input(size, '\0');
    for (std::uint32_t number = 0; number >> (8 * size) == 0; ++number) {
        for (std::size_t i = 0; i < size; ++i) {
            input[i] = static_cast<char>(number >> (8 * i) & 0xff);
        }
        all.look_at(input);
    }
}

/// Mostly heads of small items, so that much of it is well-formed.
std::string random_input(std::mt19937& dice) {
    std::string input(dice() % 24 + 4, '\0');
    for (char& byte : input) {
        const unsigned major = dice() % 8;
        const unsigned info = dice() % 8 != 0 ? dice() % 4 : dice() % 32;
        byte = static_cast<char>(dice() % 8 != 0 ? major << 5 | info : dice() % 6 == 0 ? 0xff : dice() % 256);
    }
    return input;
}

} // namespace

int main(int count, char** arguments) {
    const std::size_t random_inputs = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 1'000'000;
    comparison all;
    const std::size_t most_bytes = count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 3;
    for (std::size_t size = 1; size <= most_bytes; ++size) {
        look_at_all(all, size);
    }
    std::mt19937 dice(count > 2 ? static_cast<unsigned>(std::strtoul(arguments[2], nullptr, 10)) : 1);
    for (std::size_t i = 0; i < random_inputs; ++i) {
        all.look_at(random_input(dice));
    }
    return all.report() ? 0 : 1;
}
