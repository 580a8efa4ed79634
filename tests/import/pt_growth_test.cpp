// SPDX-License-Identifier: MIT
//
// What ten times as large a checkpoint costs: hardly more than ten times as much, in bytes that are read and in
// allocations. Counted, since time tells nothing on a busy machine; foreign_opening_memory_test.cpp bounds the memory.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/refusal.hpp"

#include <ztensor/import.hpp>
#include <ztensor/io.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace pt_growth {

using support::bytes;
using support::little_endian;

bytes text_opcode(const bytes& content) {
    return "X" + little_endian(content.size(), 4) + content;
}
bytes number_opcode(std::size_t value) {
    return "J" + little_endian(value, 4);
}

const bytes start("\x80\x02", 2);

/// Of a file from before PyTorch 1.6, up to its object.
bytes legacy_start() {
    return start + "\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." + start + "M\xe9\x03." + start + "}.";
}

/// One storage, and a list of so many numbers.
bytes legacy_values(std::size_t count) {
    bytes values;
    for (std::size_t i = 0; i < count; ++i) {
        values += "K\7";
    }
    return legacy_start() + start + "}(" + text_opcode("w") + "(" + text_opcode("storage") + "ctorch\nByteStorage\n" +
           text_opcode("0") + text_opcode("cpu") + bytes("K\0Nt", 4) + "Q" + text_opcode("l") + "](" + values + "eu." +
           start + "](" + text_opcode("0") + "e." + little_endian(0, 8);
}

/// So many storages of one byte each.
bytes legacy_storages(std::size_t count) {
    bytes storages, keys, content;
    for (std::size_t i = 0; i < count; ++i) {
        const bytes key = text_opcode(std::to_string(i));
        storages += "(" + text_opcode("storage") + "ctorch\nByteStorage\n" + key + text_opcode("cpu") + "K\1NtQ";
        keys += key;
        content += little_endian(1, 8) + "x";
    }
    return legacy_start() + start + "](" + storages + "e." + start + "](" + keys + "e." + content;
}

bytes tar_member(bytes name, const bytes& content) {
    const char digits[] = "01234567";
    bytes size(11, '0');
    std::size_t rest = content.size();
    for (std::size_t i = size.size(); rest != 0; rest /= 8) {
        size[--i] = digits[rest % 8];
    }
    name.resize(124, '\0');
    bytes header = name + size + bytes(1, '\0');
    header.resize(257, '\0');
    header += "ustar";
    header.resize(512, '\0');
    bytes padded = content;
    padded.resize((content.size() + 511) / 512 * 512, '\0');
    return header + padded;
}

/// So many tensors of one element, each on a storage of its own, from before PyTorch 0.2.
bytes tar_tensors(std::size_t count) {
    bytes object, tensors = start + number_opcode(count) + ".", storages = start + number_opcode(count) + ".";
    for (std::size_t i = 0; i < count; ++i) {
        const bytes tensor = number_opcode(count + i);
        object += text_opcode(std::to_string(i)) + tensor + "Q";
        tensors += start + "(" + tensor + number_opcode(i) + "ctorch\nByteTensor\nt." + little_endian(1, 8) +
                   little_endian(1, 8) + little_endian(1, 8) + little_endian(0, 8);
        storages +=
            start + "(" + number_opcode(i) + text_opcode("cpu") + "ctorch\nByteStorage\nt." + little_endian(1, 8) + "x";
    }
    return tar_member("sys_info", start + "}.") + tar_member("pickle", start + "}(" + object + "u.") +
           tar_member("tensors", tensors) + tar_member("storages", storages + start + "].") + bytes(1024, '\0');
}

/// Of one tensor, with one of its members replaced.
bytes tar_with(const bytes& name, const bytes& content) {
    const bytes whole = tar_tensors(1), other = tar_member(name, content);
    bytes all;
    for (std::size_t at = 0; whole[at] != '\0';) {
        const std::size_t data = std::stoul(whole.substr(at + 124, 11), nullptr, 8),
                          size = 512 + (data + 511) / 512 * 512;
        const bool is_it = whole.compare(at, name.size() + 1, name + '\0') == 0;
        all += is_it ? other : whole.substr(at, size);
        at += size;
    }
    return all + bytes(1024, '\0');
}

/// Counts what is read, and allocates nothing for it.
class counted_source final : public ztensor::byte_source {
public:
    explicit counted_source(const bytes& content) : content_(content) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    [[nodiscard]] ztensor::result<void> read_at(std::uint64_t offset, ztensor::span<std::byte> to) const override {
        bytes_read += to.size();
        const char* const from = content_.data() + static_cast<std::size_t>(offset);
        std::transform(from, from + to.size(), to.begin(), [](char each) { return static_cast<std::byte>(each); });
        return {};
    }

    mutable std::size_t bytes_read = 0;

private:
    const bytes& content_;
};

struct cost {
    std::size_t bytes_read = 0;
    std::size_t allocations = 0;
};

cost cost_of(const bytes& content) {
    const auto source = std::make_shared<counted_source>(content);
    const std::size_t before = support::allocation_count;
    const auto opened = ztensor::open_any(source, "x.pt");
    const std::size_t allocations = support::allocation_count - before;
    REQUIRE(support::outcome(opened) == "ok");
    return {source->bytes_read, allocations};
}

} // namespace pt_growth

} // namespace

TEST_CASE("a checkpoint of ten times as many values, storages or tensors costs ten times as much to open") {
    using namespace pt_growth;
    const struct {
        const char* what;
        std::function<bytes(std::size_t)> make;
        std::size_t count;
    } cases[] = {{"values", legacy_values, 1000000},
                 {"storages", legacy_storages, 100000},
                 {"tensors in a tar", tar_tensors, 20000}};
    for (const auto& each : cases) {
        const cost small = cost_of(each.make(each.count / 10)), large = cost_of(each.make(each.count));
        CAPTURE(each.what, small.bytes_read, large.bytes_read, small.allocations, large.allocations);
        CHECK(large.bytes_read <= 11 * small.bytes_read);
        CHECK(large.allocations <= 11 * small.allocations);
    }
}

TEST_CASE("a checkpoint from before version 0.2 whose members are other than written is refused") {
    using namespace pt_growth;
    const bytes one = start + number_opcode(1) + ".", views = start + "].", no_list = start + "N.";
    const bytes storage = start + "(" + number_opcode(0) + text_opcode("cpu") + "ctorch\nByteStorage\nt.";
    const bytes content = little_endian(4, 8) + "abcd", scalar = little_endian(0, 8) + little_endian(0, 8);
    const auto viewed = [&](const bytes& view) { return one + storage + content + start + "]" + view + "a."; };
    const auto four = [](std::size_t number, std::size_t root, std::size_t first, std::size_t count) {
        return "(" + number_opcode(number) + number_opcode(root) + number_opcode(first) + number_opcode(count) + "t";
    };
    const struct {
        const char* member;
        bytes content;
        const char* outcome;
    } rows[] = {
        {"storages", one + storage + content + views, "ok"},
        {"storages", viewed(four(7, 0, 1, 3)), "ok"},
        {"storages", viewed(four(7, 0, 2, 3)), "out_of_bounds"},
        {"storages", viewed(four(7, 9, 0, 1)), "out_of_bounds"},
        {"storages", viewed("(" + number_opcode(7) + number_opcode(0) + "t"), "pickle_malformed"},
        {"storages", viewed("N"), "pickle_malformed"},
        {"storages", one + storage + content + no_list, "pickle_malformed"},
        {"storages", no_list, "pickle_malformed"},
        {"storages", one + start + "N." + content + views, "pickle_malformed"},
        {"storages", one + start + "(NNctorch\nByteStorage\nt." + content + views, "pickle_malformed"},
        {"storages", one + start + "(" + number_opcode(0) + "Nctorch\nfloat32\nt." + content + views,
         "pickle_malformed"},
        {"storages", one + start + "(" + number_opcode(0) + "NNt." + content + views, "pickle_malformed"},
        {"storages",
         one + start + "(" + number_opcode(0) + "Nctorch\nLongStorage\nt." + little_endian(~std::uint64_t{0} / 4, 8),
         "shape_overflow"},
        {"storages", one + storage + little_endian(5, 8) + "abcd", "truncated"},
        {"tensors", one + start + "N." + scalar, "pickle_malformed"},
        {"tensors", one + start + "(NNNt." + scalar, "pickle_malformed"},
        {"tensors", one + start + "(" + number_opcode(1) + number_opcode(9) + "Nt." + scalar, "pickle_malformed"},
        {"tensors", one + start + "(N" + number_opcode(0) + "Nt." + scalar, "pickle_malformed"},
        {"tensors", one + start + "(" + number_opcode(1) + number_opcode(0) + "Nt." + scalar, "ok"},
        {"tensors", one + start + "(" + number_opcode(1) + number_opcode(0) + "Nt." + little_endian(9, 8), "truncated"},
        {"tensors", one + start + "(" + number_opcode(2) + number_opcode(0) + "Nt." + scalar, "pickle_malformed"},
        {"pickle", start + "}" + text_opcode("a") + "NQs.", "pickle_malformed"},
    };
    for (const auto& each : rows) {
        CAPTURE(each.member, support::to_hex(support::bytes_of(each.content)));
        const bytes whole = tar_with(each.member, each.content);
        CHECK(support::outcome(ztensor::open_any(std::make_shared<counted_source>(whole), "x.pt")) == each.outcome);
    }
    bytes odd_size = tar_tensors(1);
    odd_size[130] = '8';
    CHECK(support::outcome(ztensor::open_any(std::make_shared<counted_source>(odd_size), "x.pt")) == "truncated");
}

TEST_CASE("the members of a checkpoint from before version 0.2 are looked for among the first thousand") {
    using namespace pt_growth;
    const auto outcome_of = [](const bytes& content) {
        return support::outcome(ztensor::open_any(std::make_shared<counted_source>(content), "x.pt"));
    };
    const bytes whole = tar_tensors(1);
    REQUIRE(outcome_of(whole) == "ok");
    for (const char* const member : {"storages", "tensors", "pickle"}) {
        CAPTURE(member);
        bytes other = whole;
        const std::size_t at = other.find(member + bytes(1, '\0'));
        REQUIRE(at % 512 == 0);
        other[at] = 'x';
        CHECK(outcome_of(other) == "schema_missing");
    }
    bytes odd_size = whole;
    odd_size[130] = '/'; // right before the digits
    CHECK(outcome_of(odd_size) == "truncated");
    // Empty members in front of the last two.
    bytes header(512, '\0');
    header.replace(0, 5, "other");
    header.replace(124, 11, "00000000000");
    const std::size_t second = whole.find("tensors" + bytes(1, '\0'));
    REQUIRE(second % 512 == 0);
    const auto with_others = [&](std::size_t count) {
        return outcome_of(whole.substr(0, second) + support::repeated(count, header) + whole.substr(second));
    };
    CHECK(with_others(1020) == "ok");
    CHECK(with_others(1021) == "schema_missing");
}

TEST_CASE("the keys of a checkpoint from before archives are a list of texts, and arrays of NumPy lie in its pickle") {
    using namespace pt_growth;
    const bytes storage = "(" + text_opcode("storage") + "ctorch\nByteStorage\n" + text_opcode("0") +
                          text_opcode("cpu") + bytes("K\1Nt", 4) + "Q";
    const bytes dtype = "cnumpy\ndtype\n(" + text_opcode("u1") + "\x89\x88tR";
    const bytes array = "cnumpy.core.multiarray\nscalar\n(" + dtype + "C\1\x2atR";
    bytes whole;
    const auto open_with = [&](const bytes& keys) {
        whole = legacy_start() + start + "}(" + text_opcode("w") + storage + text_opcode("n") + array + "u." + start +
                keys + "." + little_endian(1, 8) + "x";
        return ztensor::open_any(std::make_shared<counted_source>(whole), "x.pt");
    };
    const auto file = open_with("](" + text_opcode("0") + "e");
    REQUIRE(support::outcome(file) == "ok");
    CHECK(file->read<std::uint8_t>("n").value() == std::vector<std::uint8_t>{42});
    CHECK(file->read<std::uint8_t>("w").value() == std::vector<std::uint8_t>{'x'});
    for (const bytes& keys : {bytes("N"), text_opcode("0"), "}" + text_opcode("0") + "Ns", bytes("](Ne"),
                              bytes("](K\1e"), "](" + text_opcode("1") + "e"}) {
        CAPTURE(support::to_hex(support::bytes_of(keys)));
        CHECK(support::outcome(open_with(keys)) == "pickle_malformed");
    }
}
