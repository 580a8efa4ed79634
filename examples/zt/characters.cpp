// SPDX-License-Identifier: MIT
#include "characters.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace zt {
namespace {

struct range {
    char32_t first, last;
};

/// Control characters, those that can't be seen, and those that change the direction of text.
constexpr range hidden[] = {{0x0, 0x1f},       {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},  {0x200b, 0x200f},
                            {0x2028, 0x202e},  {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb},
                            {0xe0000, 0xe007f}};
/// Those that stand above or below the one before.
constexpr range combining[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x64b, 0x65f},   {0x900, 0x902},
                               {0x93c, 0x93c},   {0x941, 0x948},   {0x94d, 0x94d},   {0xe31, 0xe31},   {0xe34, 0xe3a},
                               {0xe47, 0xe4e},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0x3099, 0x309a},
                               {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
/// Those of East Asia, and pictures.
constexpr range wide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
                          {0x4e00, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
                          {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
                          {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};

template <std::size_t Count>
bool is_in(char32_t point, const range (&ranges)[Count]) {
    return std::any_of(std::begin(ranges), std::end(ranges),
                       [&](const range& each) { return point >= each.first && point <= each.last; });
}

unsigned byte_at(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

/// Bytes and code point of a character of several bytes; false for what is not UTF-8.
bool decode(std::string_view text, character& to) {
    const unsigned lead = byte_at(text, 0);
    const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < size) {
        return false;
    }
    char32_t point = lead & (0x7fU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte_at(text, i) & 0xc0) != 0x80) {
            return false;
        }
        point = point << 6 | (byte_at(text, i) & 0x3f);
    }
    const bool is_overlong = point < (size == 4 ? 0x10000U : size == 3 ? 0x800U : 0x80U);
    if (is_overlong || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
        return false;
    }
    to.bytes = size;
    to.point = point;
    return true;
}

} // namespace

character first_character(std::string_view text) {
    character found;
    found.point = byte_at(text, 0);
    if (found.point >= 0x20 && found.point < 0x7f) { // nearly all there are
        found.is_utf8 = found.is_shown = true;
        return found;
    }
    found.is_utf8 = found.point < 0x80 || decode(text, found);
    found.is_shown = found.is_utf8 && !is_in(found.point, hidden);
    if (found.point >= 0x300) {
        found.columns = is_in(found.point, combining) ? 0 : is_in(found.point, wide) ? 2 : 1;
    }
    return found;
}

std::string escaped(std::string_view text, const character& first) {
    constexpr std::string_view named = "\b\t\n\f\r", names = "btnfr";
    char out[16];
    if (!first.is_utf8) {
        std::snprintf(out, sizeof out, "\\x%02x", byte_at(text, 0));
    } else if (const std::size_t at = named.find(text.front()); at != std::string_view::npos) {
        return {'\\', names[at]};
    } else if (first.point < 0x10000) {
        std::snprintf(out, sizeof out, "\\u%04x", static_cast<unsigned>(first.point));
    } else {
        std::snprintf(out, sizeof out, "\\u%04x\\u%04x", static_cast<unsigned>(0xd7c0 + (first.point >> 10)),
                      static_cast<unsigned>(0xdc00 + (first.point & 0x3ff)));
    }
    return out;
}

} // namespace zt
