// SPDX-License-Identifier: MIT
//
// The head of a server's response, and each value that it may hold: what is taken for a range is that range, written
// once more it is the same, and a response is accepted for exactly the range that it states.
#include "fuzz/fuzzing.hpp"

#include <ztensor/detail/http/messages.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace detail = ztensor::detail;

const std::size_t fuzzing::working_bytes = std::size_t{1} << 20;

namespace {

/// Line by line, as libcurl hands them over.
void read_head(std::string_view text, detail::http_response_head& head) {
    head.clear();
    while (!text.empty()) {
        const std::size_t end = (std::min)(text.find('\n'), text.size() - 1) + 1;
        if (!head.add_line(text.substr(0, end))) {
            fuzzing::require(head.is_too_large(), "a head is refused for its size alone");
            return;
        }
        text.remove_prefix(end);
    }
}

void check_range(const detail::http_content_range& range) {
    const bool is_unsatisfied = range.begin == 0 && range.end == 0;
    fuzzing::require(is_unsatisfied || (range.begin < range.end && range.end <= range.total),
                     "a range lies in what it is a part of");
    const std::string place = is_unsatisfied ? "*" : std::to_string(range.begin) + "-" + std::to_string(range.end - 1);
    const auto again = detail::parse_content_range("bytes " + place + "/" + std::to_string(range.total));
    fuzzing::require(again && again->begin == range.begin && again->end == range.end && again->total == range.total,
                     "a range that is written once more is the same");
}

void check_accepted(const detail::http_response_head& head) {
    detail::http_range_request asked;
    asked.end = 1;
    if (head.range()) {
        asked.begin = head.range()->begin;
        asked.end = head.range()->end;
        asked.total = head.range()->total;
        asked.tag = head.tag();
    }
    if (asked.check(head) != detail::http_problem::none) {
        return;
    }
    fuzzing::require(head.status() == 206 && head.is_complete() && head.is_identity() && !head.is_malformed(),
                     "only a complete 206 without a coding is accepted");
    asked.end += 1;
    fuzzing::require(asked.check(head) == detail::http_problem::other_range, "another end is refused");
    asked.end -= 1;
    asked.begin += 1;
    fuzzing::require(asked.check(head) == detail::http_problem::other_range, "another begin is refused");
    asked.begin -= 1;
    *asked.total += 1;
    fuzzing::require(asked.check(head) == detail::http_problem::other_total, "another size is refused");
    *asked.total -= 1;
    asked.tag = "\"another one\"";
    fuzzing::require(head.tag().empty() || asked.check(head) == detail::http_problem::other_tag,
                     "another tag is refused");
    if (head.range()->end == head.range()->total) {
        detail::http_range_request suffix;
        suffix.end = head.range()->end - head.range()->begin;
        suffix.is_suffix = true;
        fuzzing::require(suffix.check(head) == detail::http_problem::none, "the end of a file is a suffix");
    }
}

void check_values(std::string_view text) {
    if (const auto range = detail::parse_content_range(text)) {
        check_range(*range);
    }
    if (const auto number = detail::parse_decimal(text)) {
        const std::string_view digits = text.substr((std::min)(text.find_first_not_of('0'), text.size() - 1));
        fuzzing::require(std::to_string(*number) == digits, "a number is its digits");
    }
    const unsigned status = detail::parse_status_line(text);
    fuzzing::require(status == 0 || (status >= 100 && status <= 999), "a status has three digits");
    if (const auto date = detail::parse_http_date(text)) {
        fuzzing::require(*date < 253'402'387'200, "a date has a year of four digits");
        fuzzing::require(*detail::parse_retry_after(text, 0) == *date, "a date is so many seconds away");
        fuzzing::require(*detail::parse_retry_after(text, *date) == 0, "what is past is no reason to wait");
    }
    if (detail::is_entity_tag(text)) {
        fuzzing::require(detail::is_field_value(text), "a tag that is sent back is one field");
        fuzzing::require(detail::is_strong_tag(text) == (detail::opaque_tag(text).size() == text.size()),
                         "a tag is strong without W/");
    }
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    const std::string_view text = as_text(input);
    check_values(text);
    const auto head = std::make_unique<detail::http_response_head>();
    read_head(text, *head);
    fuzzing::require(head->status() == 0 || (head->status() >= 100 && head->status() <= 999),
                     "a status has three digits");
    fuzzing::require(head->tag().empty() || detail::is_entity_tag(head->tag()), "a tag is one that can be sent back");
    fuzzing::require(head->range().has_value() <= head->has_range(), "a range stands there");
    if (head->range()) {
        check_range(*head->range());
    }
    check_accepted(*head);
    const auto again = std::make_unique<detail::http_response_head>();
    read_head(as_text(input), *again);
    read_head(as_text(input), *again); // nothing of the first is left
    fuzzing::require(again->status() == head->status() && again->tag() == head->tag() &&
                         again->location() == head->location() && again->is_complete() == head->is_complete() &&
                         again->is_malformed() == head->is_malformed() && again->retry_after() == head->retry_after(),
                     "a head is read alike twice");
}
