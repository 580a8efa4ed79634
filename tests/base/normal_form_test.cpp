// SPDX-License-Identifier: MIT
//
// Which text is in Normalization Form C. Beside the Python package unicodedata2 18.0.0 the tables were run once over
// 455,908 texts, which hold every character, every pair that composes and every two marks of different classes.
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
             "a\xcc\xa7\xcc\x81",                          // a, cedilla, acute: á, cedilla is composed past the cedilla
             "\xe2\x84\xab", "\xe2\x84\xa6",               // the signs of Ångström and Ohm
             "\xef\xa4\x80",                               // a compatibility ideograph
             "\xe1\x84\x92\xe1\x85\xa1", "\xed\x95\x98\xe1\x86\xab", // Hangul in letters, and a syllable and a letter
             "\xe0\xa5\x98",                                         // Devanagari, the composed letter
             "\xf0\x91\x82\x99\xf0\x91\x82\xba",                     // Kaithi, beyond 16 bits
         }) {
        CAPTURE(std::string(text));
        CHECK_FALSE(is_in_normal_form_c(text));
    }
}

TEST_CASE("characters that Unicode gained since version 14 compose and are ordered as it says") {
    for (const std::string_view text : {
             "\xf0\x90\x97\x92\xcc\x87", "\xf0\x90\x97\x9a\xcc\x87", // U+105D2, U+105DA: Todhri, 16.0
             "\xf0\x91\x8e\x82\xf0\x91\x8f\x89",                     // U+11382 U+113C9: Tulu-Tigalari, 16.0
             "\xf0\x91\x8f\x82\xf0\x91\x8f\x82",                     // U+113C2 U+113C2
             "\xf0\x91\x8f\x82\xf0\x91\x8e\xb8",                     // U+113C2 U+113B8
             "\xf0\x96\x84\x9e\xf0\x96\x84\x9e",                     // U+1611E U+1611E: Gurung Khema, 16.0
             "\xf0\x96\x84\xa1\xf0\x96\x84\x9f",                     // U+16121 U+1611F, of which the first is two
             "\xf0\x96\xb5\xa7\xf0\x96\xb5\xa7",                     // U+16D67 U+16D67: Kirat Rai, 16.0
             "\xf0\x96\xb5\xa3\xf0\x96\xb5\xa7\xf0\x96\xb5\xa7",     // U+16D63 U+16D67 U+16D67: U+16D6A
             "q\xf0\x9e\x82\x8f\xcc\xa3",                            // U+1E08F, a mark above, 15.0; dot below
             "q\xe0\xa2\x97\xcc\xa3",                                // U+0897, 16.0
             "q\xe1\xab\x8f\xcc\xa3",                                // U+1ACF, 17.0
             "q\xcc\xa3\xd7\x88",                                    // dot below, U+05C8, 18.0
         }) {
        CAPTURE(std::string(text));
        CHECK_FALSE(is_in_normal_form_c(text));
    }
    for (const std::string_view text : {
             "\xf0\x90\x97\x89",
             "\xf0\x90\x97\xa4", // U+105C9, U+105E4
             "\xf0\x91\x8f\x85",
             "\xf0\x96\x84\xa6",
             "\xf0\x96\xb5\xaa",          // U+113C5, U+16126, U+16D6A
             "\xf0\x90\x97\x92q\xcc\x87", // something between them
             "q\xcc\xa3\xf0\x9e\x82\x8f",
             "q\xcc\xa3\xe1\xab\x8f", // marks in order
             "q\xd7\x88\xcc\xa3",
         }) {
        CAPTURE(std::string(text));
        CHECK(is_in_normal_form_c(text));
    }
}

TEST_CASE("many marks behind one letter are put in order in no time") {
    std::string text = "a";
    for (int i = 0; i < 100'000; ++i) {
        text += i % 2 == 0 ? "\xcc\x95" : "\xcc\xa7"; // classes 232 and 202
    }
    CHECK_FALSE(is_in_normal_form_c(text));
}
