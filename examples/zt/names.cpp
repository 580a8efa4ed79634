// SPDX-License-Identifier: MIT
#include "names.hpp"

#include "terminal.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string_view>
#include <unordered_map>

namespace zt {
namespace {

/// The components of a name, each with the separator behind it.
std::vector<std::string_view> components_of(std::string_view name) {
    std::vector<std::string_view> components;
    while (!name.empty()) {
        const std::size_t separator = name.find_first_of("./");
        const std::size_t size = separator == std::string_view::npos ? name.size() : separator + 1;
        components.push_back(name.substr(0, size));
        name.remove_prefix(size);
    }
    return components;
}

bool is_separator(char c) {
    return c == '.' || c == '/';
}

std::size_t common_start(std::string_view a, std::string_view b) {
    return static_cast<std::size_t>(
        std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin())
            .first -
        a.begin());
}

/// Which components stand behind each beginning of a name. Borrows the names.
class name_tree {
public:
    explicit name_tree(const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            std::size_t before = 0;
            for (const std::string_view each : components_of(name)) {
                below_[std::string_view(name).substr(0, before)].insert(each);
                before += each.size();
            }
        }
    }

    /// As much of a component as no other at its place begins with, and its separator. Numbers are whole.
    [[nodiscard]] std::string shortest(std::string_view before, std::string_view component) const {
        const std::set<std::string_view>& all = below_.at(before);
        const auto here = all.find(component);
        const std::size_t size = component.size() - (is_separator(component.back()) ? 1 : 0);
        std::size_t needed = here == all.begin() ? 0 : common_start(component, *std::prev(here));
        needed = std::next(here) == all.end() ? needed : std::max(needed, common_start(component, *std::next(here)));
        ++needed;
        while (needed < size && (static_cast<unsigned char>(component[needed]) & 0xc0) == 0x80) {
            ++needed; // the rest of a character
        }
        const bool is_number = component.find_first_not_of("0123456789./") == std::string_view::npos;
        if (is_number || needed >= size) {
            return std::string(component);
        }
        return std::string(component.substr(0, needed)) + std::string(component.substr(size));
    }

private:
    std::unordered_map<std::string_view, std::set<std::string_view>> below_;
};

std::string with_short_components(const std::string& name, const name_tree& tree, std::size_t columns) {
    std::string start;
    std::size_t before = 0, width = columns_of(name);
    for (const std::string_view each : components_of(name)) {
        if (width <= columns) {
            break;
        }
        const std::string shorter = tree.shortest(std::string_view(name).substr(0, before), each);
        width -= columns_of(each) - columns_of(shorter);
        start += shorter;
        before += each.size();
    }
    return start + name.substr(before);
}

/// Which name each short one stands for.
class short_names {
public:
    /// False if it stands for another one.
    bool add(const std::string& shorter, const std::string& name) {
        return full_.try_emplace(shorter, name).first->second == name;
    }
    /// One with a number in its middle, which stands for no other.
    std::string numbered(const std::string& name, std::size_t columns) {
        if (const auto known = numbered_.find(name); known != numbered_.end()) {
            return known->second;
        }
        for (;;) {
            const std::string mark = '~' + std::to_string(++count_) + '~';
            const std::size_t more = mark.size() - 3; // than the dots that it takes the place of
            std::string shorter = more < columns ? cut_in_the_middle(name, columns - more) : mark;
            if (const std::size_t dots = shorter.find("..."); dots != std::string::npos) {
                shorter.replace(dots, 3, mark);
            }
            if (add(shorter, name)) {
                return numbered_[name] = shorter;
            }
        }
    }

private:
    std::unordered_map<std::string, std::string> full_;
    std::unordered_map<std::string, std::string> numbered_;
    std::size_t count_ = 0;
};

} // namespace

std::vector<std::string> shortened(const std::vector<std::string>& names, std::size_t columns) {
    std::vector<std::string> out;
    bool is_clear = true;
    short_names known;
    for (const std::string& name : names) {
        out.push_back(cut_in_the_middle(name, columns));
        is_clear = known.add(out.back(), name) && is_clear;
    }
    if (is_clear) {
        return out;
    }
    const name_tree tree(names);
    short_names again;
    for (std::size_t i = 0; i < names.size(); ++i) {
        out[i] = with_short_components(names[i], tree, columns);
        if (columns_of(out[i]) > columns || !again.add(out[i], names[i])) {
            out[i] = again.numbered(names[i], columns);
        }
    }
    return out;
}

} // namespace zt
