// SPDX-License-Identifier: MIT
//
// Names and digests from the input: what the writer takes opens again under the same names; a digest of a known
// algorithm holds exactly if its digits are those of the bytes.
#include "fuzz/fuzzing.hpp"

#include "support/bytes.hpp"
#include "support/cbor.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <string>
#include <string_view>
#include <vector>

const std::size_t fuzzing::working_bytes = std::size_t{4} << 20;

namespace {

constexpr std::size_t most_names = 64;

/// The input cut at every zero byte.
std::vector<std::string_view> names_in(std::string_view input) {
    std::vector<std::string_view> names;
    for (std::size_t start = 0; start <= input.size() && names.size() < most_names;) {
        const std::size_t end = std::min(input.find('\0', start), input.size());
        names.push_back(input.substr(start, end - start));
        start = end + 1;
    }
    return names;
}

void write_and_find(const std::vector<std::string_view>& names) {
    ztensor::writer out = ztensor::writer::to_memory().value();
    std::vector<std::string_view> taken;
    for (const std::string_view name : names) {
        const std::vector<std::uint32_t> value = {static_cast<std::uint32_t>(taken.size())};
        if (out.add(name, {1}, value).has_value()) {
            taken.push_back(name);
        }
    }
    fuzzing::require(out.finish().has_value(), "what was taken can be finished");
    const auto file = ztensor::reader::from_bytes(out.take_bytes());
    fuzzing::require(file.has_value(), "what the writer made opens");
    fuzzing::require(file->size() == taken.size(), "every object is there");
    for (std::size_t i = 0; i < taken.size(); ++i) {
        const auto value = file->view<std::uint32_t>(taken[i]);
        fuzzing::require(value.has_value() && (*value)[0] == i, "a name leads to its own tensor");
    }
}

void state_digest(std::string_view digest) {
    const support::bytes blob = support::little_endian(std::vector<std::uint64_t>{1, 2}, 4);
    const support::bytes content =
        support::sample().component("digest", support::cbor::text(digest)).blob(blob).dtype("u32").file();
    const auto file = ztensor::reader::from_bytes(support::to_vector(content));
    if (!file) {
        return;
    }
    const auto state = file->find("w")->data()->verify();
    const auto is = [&](ztensor::digest algorithm) {
        return ztensor::digest_text(algorithm, support::bytes_of(blob)) == digest;
    };
    fuzzing::require(!is(ztensor::digest::crc32c) || (state && *state == ztensor::digest_state::match),
                     "the digest of the bytes is verified");
    fuzzing::require(!(state && *state == ztensor::digest_state::match) || digest.size() >= 8,
                     "no text shorter than a digest is verified");
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    const std::vector<std::string_view> names = names_in(as_text(input));
    write_and_find(names);
    state_digest(names.front());
}
