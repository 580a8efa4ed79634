// SPDX-License-Identifier: MIT
//
// Files that say by their names that they are parts of one model, such as "model-00002-of-00003.safetensors": which
// parts there are, and which are missing. Opens nothing.
#ifndef ZTENSOR_DETAIL_FOREIGN_NUMBERED_FILES_HPP
#define ZTENSOR_DETAIL_FOREIGN_NUMBERED_FILES_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// "model-00002-of-00003.safetensors"
struct numbered_name {
    std::string_view before; ///< "model-"
    std::string_view number; ///< "00002"
    std::string_view of;     ///< "-of-"
    std::string_view count;  ///< "00003"
    std::string_view after;  ///< ".safetensors"
};

[[nodiscard]] inline bool is_digit(char letter) noexcept {
    return letter >= '0' && letter <= '9';
}

/// Nothing if the name is none of a part.
[[nodiscard]] ZTENSOR_COLD inline std::optional<numbered_name> read_numbered_name(std::string_view name) noexcept {
    constexpr std::size_t most_digits = 9;
    for (const std::string_view of : {"-of-", "_of_"}) {
        const std::size_t at = name.rfind(of);
        if (at == std::string_view::npos) {
            continue;
        }
        std::size_t begin = at, end = at + of.size();
        while (begin != 0 && is_digit(name[begin - 1])) {
            --begin;
        }
        while (end != name.size() && is_digit(name[end])) {
            ++end;
        }
        const bool stands_alone = begin == 0 || std::string_view("-_.").find(name[begin - 1]) != std::string_view::npos;
        const numbered_name found = {name.substr(0, begin), name.substr(begin, at - begin), of,
                                     name.substr(at + of.size(), end - at - of.size()), name.substr(end)};
        const bool has_numbers = !found.number.empty() && !found.count.empty() && found.number.size() <= most_digits &&
                                 found.count.size() <= most_digits;
        if (stands_alone && has_numbers) {
            return found;
        }
    }
    return std::nullopt;
}

/// Of at most nine digits.
[[nodiscard]] inline std::uint64_t number_of(std::string_view digits) noexcept {
    std::uint64_t number = 0;
    for (const char digit : digits) {
        number = number * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    return number;
}

/// The parts of each model among the files of a folder.
class numbered_files {
public:
    /// Takes in the name of a file; other names than those of parts are passed over.
    void add(std::string_view file) {
        const std::optional<numbered_name> name = read_numbered_name(file);
        if (name) {
            model& of = models_[{std::string(name->before), std::string(name->count), std::string(name->of),
                                 std::string(name->after)}];
            of.digits = (std::max)(of.digits, name->number.size());
            of.numbers.insert(number_of(name->number));
        }
    }

    /// How the parts of each model are called, such as "model-*-of-00003.safetensors", in quotes and after commas.
    [[nodiscard]] std::string names() const {
        std::string all;
        for (const auto& each : models_) {
            all += (all.empty() ? "" : ", ") + quote(name_of(each.first, "*"));
        }
        return all;
    }
    [[nodiscard]] std::size_t models() const noexcept { return models_.size(); }

    /// Errors: shard_missing for parts that are missing, each by its number; invalid_argument if there are several
    /// models.
    [[nodiscard]] ZTENSOR_COLD result<void> check() const {
        if (models_.size() > 1) {
            return fail(errc::invalid_argument,
                        "the files in the folder are parts of {} models, {}: give the files of one of them",
                        {models_.size(), names()});
        }
        for (const auto& each : models_) {
            ZTENSOR_TRY(check_model(each.first, each.second));
        }
        return {};
    }

private:
    using key = std::tuple<std::string, std::string, std::string, std::string>; ///< before, count, of, after
    struct model {
        std::set<std::uint64_t> numbers;
        std::size_t digits = 0; ///< of the longest number
    };

    [[nodiscard]] static std::string name_of(const key& of, const std::string& number) {
        return std::get<0>(of) + number + std::get<2>(of) + std::get<1>(of) + std::get<3>(of);
    }
    [[nodiscard]] static std::string name_of(const key& of, const model& parts, std::uint64_t number) {
        const std::string digits = std::to_string(number);
        const std::string zeros(parts.digits - (std::min)(parts.digits, digits.size()), '0');
        return name_of(of, zeros + digits);
    }

    /// Parts are counted from 1 on, and by some from 0 on.
    [[nodiscard]] static result<void> check_model(const key& of, const model& parts) {
        const std::uint64_t count = number_of(std::get<1>(of));
        const std::uint64_t first = *parts.numbers.begin() == 0 ? 0 : 1, end = first + count;
        if (*parts.numbers.rbegin() >= end) {
            return fail(errc::invalid_argument, "the file {} says that it is one of {}",
                        {in_quotes(name_of(of, parts, *parts.numbers.rbegin())), count});
        }
        if (parts.numbers.size() == count) {
            return {};
        }
        constexpr std::size_t most_told = 20;
        const std::uint64_t absent = count - parts.numbers.size();
        std::string missing;
        std::size_t told = 0;
        for (std::uint64_t number = first; number != end && told != most_told; ++number) {
            if (parts.numbers.count(number) == 0) {
                missing += sentence("{}part {} of {}, {}: it is missing",
                                    {told == 0 ? "" : "; ", number, count, in_quotes(name_of(of, parts, number))});
                ++told;
            }
        }
        const std::uint64_t untold = absent - told;
        return fail(errc::shard_missing, "{}{}", {missing, untold == 0 ? "" : sentence("; and {} more", {untold})});
    }

    std::map<key, model> models_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
