// SPDX-License-Identifier: MIT
//
// Models of GGUF in several files: the first opens all, and what is missing or out of place is refused by its number.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/far_folder.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/import/gguf.hpp>
#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::bytes;
using support::little_endian;
using support::outcome;
using support::refusal;
using ztensor::errc;

bytes text_of_gguf(const std::string& content) {
    return little_endian(content.size(), 8) + content;
}
bytes u16_value(const std::string& key, std::uint64_t value) {
    return text_of_gguf(key) + little_endian(2, 4) + little_endian(value, 2);
}

/// A GGUF file with tensors of one row of f32 or, of `type` 2, of q4_0.
class gguf_file {
public:
    gguf_file& pair(const bytes& encoded) {
        pairs_ += encoded;
        ++pair_count_;
        return *this;
    }
    gguf_file& part(std::uint64_t number, std::uint64_t count, std::uint64_t tensors) {
        const bytes all =
            text_of_gguf("split.tensors.count") + little_endian(5, 4) + little_endian(tensors, 4); // an i32
        return pair(u16_value("split.no", number)).pair(u16_value("split.count", count)).pair(all);
    }
    gguf_file& tensor(const std::string& name, std::uint64_t elements, std::uint64_t type, const bytes& data) {
        return tensor(name, std::vector<std::uint64_t>{elements}, type, data);
    }
    gguf_file& tensor(const std::string& name, const std::vector<std::uint64_t>& dimensions, std::uint64_t type,
                      const bytes& data) {
        infos_ += text_of_gguf(name) + little_endian(dimensions.size(), 4);
        for (const std::uint64_t each : dimensions) {
            infos_ += little_endian(each, 8);
        }
        infos_ += little_endian(type, 4) + little_endian(data_.size(), 8);
        data_ += data;
        data_.resize((data_.size() + 31) / 32 * 32);
        ++tensor_count_;
        return *this;
    }
    gguf_file& floats(const std::string& name, const std::vector<float>& values) {
        return tensor(name, values.size(), 0, support::between_file_and_host(support::memory_of(values), 4));
    }
    [[nodiscard]] bytes content() const {
        bytes head = "GGUF" + little_endian(3, 4) + little_endian(tensor_count_, 8) + little_endian(pair_count_, 8);
        head += pairs_ + infos_;
        head.resize((head.size() + 31) / 32 * 32);
        return head + data_;
    }

private:
    bytes pairs_, infos_, data_;
    std::uint64_t pair_count_ = 0, tensor_count_ = 0;
};

const bytes block_of_ones = little_endian(0x3c00, 2) + bytes(16, '\x99');

/// m-00001-of-00003.gguf and its fellows, with four tensors.
void write_parts(const support::temp_dir& folder) {
    const bytes name = text_of_gguf("general.name") + little_endian(8, 4);
    support::write_file(folder / "m-00001-of-00003.gguf",
                        gguf_file().pair(name + text_of_gguf("first")).part(0, 3, 4).floats("a", {1, 2}).content());
    support::write_file(folder / "m-00002-of-00003.gguf", gguf_file()
                                                              .pair(name + text_of_gguf("second"))
                                                              .part(1, 3, 4)
                                                              .floats("b", {3})
                                                              .tensor("q", 32, 2, block_of_ones)
                                                              .content());
    support::write_file(folder / "m-00003-of-00003.gguf", gguf_file().part(2, 3, 4).floats("c", {4, 5}).content());
}

void check_model(const ztensor::reader& model) {
    CHECK(model.size() == 4);
    CHECK(model.read<float>("a").value() == std::vector<float>{1, 2});
    CHECK(model.read<float>("b").value() == std::vector<float>{3});
    CHECK(model.read<float>("c").value() == std::vector<float>{4, 5});
    CHECK(model.find("q").value().read_as<float>().value() == std::vector<float>(32, 1));
    CHECK(model.attributes().text("general.name").value() == "first");
    CHECK(model.verify().value().ok());
}

/// Why the model of the parts of `folder` does not open.
std::string why_not(const support::temp_dir& folder, errc code) {
    const auto model = ztensor::open_any(folder / "m-00001-of-00003.gguf");
    CHECK(refusal(model) == code);
    return model ? "" : model.error().sentence();
}

bool says(const std::string& sentence, const std::string& words) {
    return sentence.find(words) != std::string::npos;
}

} // namespace

TEST_CASE("the first of several GGUF files opens all of them as one model") {
    const support::temp_dir folder;
    write_parts(folder);
    const auto model = ztensor::open_any(folder / "m-00001-of-00003.gguf");
    REQUIRE(outcome(model) == "ok");
    check_model(*model);
    std::filesystem::rename(folder / "m-00001-of-00003.gguf", folder / "m-00001-of-00003.GGUF");
    std::filesystem::rename(folder / "m-00002-of-00003.gguf", folder / "m-00002-of-00003.GGUF");
    std::filesystem::rename(folder / "m-00003-of-00003.gguf", folder / "m-00003-of-00003.GGUF");
    check_model(ztensor::open_any(folder / "m-00001-of-00003.GGUF").value());
}

TEST_CASE("the parts of a model far away are those that its source brings") {
    const support::temp_dir folder;
    write_parts(folder);
    const auto model = support::open_far(folder / "m-00001-of-00003.gguf");
    REQUIRE(model);
    check_model(*model);
    std::filesystem::remove(folder / "m-00002-of-00003.gguf");
    const auto without = support::open_far(folder / "m-00001-of-00003.gguf");
    CHECK(refusal(without) == errc::shard_missing);
    CHECK(without.error().sentence() == "part 2 of 3, \"m-00002-of-00003.gguf\": it is missing");
}

TEST_CASE("the parts of a model far away are opened many at once, and a long header takes few trips") {
    const support::temp_dir folder;
    constexpr std::uint64_t count = 40;
    const auto path_of = [&](std::uint64_t number) {
        const std::string digits = std::to_string(100'000 + number).substr(1);
        return folder / ("m-" + digits + "-of-00040.gguf");
    };
    const bytes words = text_of_gguf("words") + little_endian(8, 4) + text_of_gguf(bytes(6'000'000, 'w'));
    for (std::uint64_t i = 0; i < count; ++i) {
        gguf_file part;
        part.part(i, count, count).floats("t" + std::to_string(i), {static_cast<float>(i)});
        support::write_file(path_of(i + 1), (i == 0 ? part.pair(words) : part).content());
    }
    support::far_file::trips all;
    const auto model = support::open_far(path_of(1), {}, &all);
    REQUIRE(outcome(model) == "ok");
    CHECK(model->size() == count);
    CHECK(model->read<float>("t39").value() == std::vector<float>{39});
    CHECK(all.most_at_once > 4);
    CHECK(all.reads < 2 * count + 16);
    std::filesystem::remove(path_of(7));
    const auto without = support::open_far(path_of(1));
    CHECK(refusal(without) == errc::shard_missing);
    CHECK(without.error().sentence() == "part 7 of 40, \"m-00007-of-00040.gguf\": it is missing");
}

TEST_CASE("a folder or a list of the parts of a GGUF model is that model, once") {
    const support::temp_dir folder;
    write_parts(folder);
    const auto by_folder = ztensor::open_any(folder.path());
    const auto by_list = ztensor::open_any(std::vector<std::filesystem::path>{
        folder / "m-00001-of-00003.gguf", folder / "m-00002-of-00003.gguf", folder / "m-00003-of-00003.gguf"});
    for (const auto* each : {&by_folder, &by_list}) {
        REQUIRE(outcome(*each) == "ok");
        REQUIRE((*each)->files().size() == 1);
        check_model((*each)->files()[0]);
    }
    std::filesystem::remove(folder / "m-00002-of-00003.gguf");
    const auto with_gap = ztensor::open_any(folder.path());
    CHECK(refusal(with_gap) == errc::shard_missing);
    CHECK((with_gap || says(with_gap.error().sentence(), "part 2 of 3, \"m-00002-of-00003.gguf\"")));
}

TEST_CASE("GGUF files that are only called like parts are opened each") {
    const support::temp_dir folder;
    support::write_file(folder / "m-00001-of-00002.gguf", gguf_file().floats("a", {1}).content());
    support::write_file(folder / "m-00002-of-00002.gguf", gguf_file().floats("b", {2}).content());
    const auto set = ztensor::open_any(folder.path());
    REQUIRE(outcome(set) == "ok");
    CHECK(set->files().size() == 2);
    CHECK(set->find("b").value().read<float>().value() == std::vector<float>{2});
}

TEST_CASE("a part of a GGUF model that is missing or out of place is refused by its number") {
    const support::temp_dir folder;
    write_parts(folder);
    const bytes second = support::read_file(folder / "m-00002-of-00003.gguf");
    const auto with_second = [&](const bytes& content, errc code) {
        support::write_file(folder / "m-00002-of-00003.gguf", content);
        const std::string why = why_not(folder, code);
        CAPTURE(why);
        CHECK(says(why, "part 2 of 3, \"m-00002-of-00003.gguf\": "));
        return why;
    };
    CHECK(
        says(with_second(gguf_file().part(2, 3, 4).content(), errc::shard_mismatch), "it says that it is part 3 of 3"));
    CHECK(
        says(with_second(gguf_file().part(1, 4, 4).content(), errc::shard_mismatch), "it says that it is part 2 of 4"));
    CHECK(says(with_second(gguf_file().content(), errc::shard_mismatch), "it says that it is part 1 of 0"));
    CHECK(says(with_second("GGML" + second.substr(4), errc::shard_mismatch), "no GGUF file"));
    CHECK(says(with_second("", errc::shard_mismatch), "no GGUF file"));
    with_second(second.substr(0, 60), errc::truncated);
    const bytes whole = gguf_file().part(1, 3, 4).floats("b", std::vector<float>(9)).content();
    with_second(whole.substr(0, whole.size() - 32), errc::out_of_bounds);
    support::write_file(folder / "m-00002-of-00003.gguf", gguf_file().part(1, 3, 4).floats("b", {3}).content());
    CHECK(says(why_not(folder, errc::shard_mismatch), "split.tensors.count is 4, but the 3 parts hold 3 tensors"));
    support::write_file(folder / "m-00002-of-00003.gguf",
                        gguf_file().part(1, 3, 4).floats("b", {3}).floats("c", {3}).content());
    why_not(folder, errc::duplicate_key);
    std::filesystem::remove(folder / "m-00002-of-00003.gguf");
    CHECK(says(why_not(folder, errc::shard_missing), "part 2 of 3, \"m-00002-of-00003.gguf\": it is missing"));
    support::write_file(folder / "m-00002-of-00003.gguf", second);
    check_model(ztensor::open_any(folder / "m-00001-of-00003.gguf").value());
}

TEST_CASE("a part of a GGUF model alone, joined or by another name is refused by its number") {
    const support::temp_dir folder;
    write_parts(folder);
    const auto third = ztensor::open_any(folder / "m-00003-of-00003.gguf");
    REQUIRE(refusal(third) == errc::shard_mismatch);
    CHECK(says(third.error().sentence(), "part 3 of 3 of a model: open part 1, \"m-00001-of-00003.gguf\""));
    const bytes first = support::read_file(folder / "m-00001-of-00003.gguf");
    const bytes joined = first + support::read_file(folder / "m-00002-of-00003.gguf");
    for (const char* const name :
         {"joined.gguf", "m-00001-of-00002.gguf", "m-0000a-of-00003.gguf", "m-00001-of-00003_gguf",
          "m_00001-of-00003.gguf", "00001-of-00003.gguf", "m-00002-of-00003.gguf"}) {
        CAPTURE(name);
        support::write_file(folder / name, joined);
        const auto opened = ztensor::open_any(folder / name);
        CHECK(refusal(opened) == errc::shard_missing);
        CHECK((opened || says(opened.error().sentence(), "part 2 of 3 can't be found")));
    }
}

TEST_CASE("what GGUF allows beyond ggml's own limits is read: names of 255 bytes, eight dimensions") {
    const support::temp_dir folder;
    const std::string longest(255, 'n');
    const bytes data = support::between_file_and_host(support::memory_of(std::vector<float>{1, 2, 3, 4, 5, 6}), 4);
    support::write_file(folder / "x.gguf", gguf_file()
                                               .tensor(longest, {2, 1, 3, 1, 1, 1, 1, 1}, 0, data)
                                               .tensor("s", std::vector<std::uint64_t>{}, 0, data)
                                               .content());
    const auto file = ztensor::open_any(folder / "x.gguf");
    REQUIRE(outcome(file) == "ok");
    CHECK(file->find(longest).value().shape() == ztensor::shape{1, 1, 1, 1, 1, 3, 1, 2});
    CHECK(file->read<float>(longest).value() == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(file->read<float>("s").value() == std::vector<float>{1});
}

TEST_CASE("a number that a fork had for other blocks than ggml has is not taken for ggml's") {
    const support::temp_dir folder;
    const auto open = [&](std::size_t block_bytes) {
        gguf_file file;
        file.tensor("small", 128, 42, bytes(block_bytes, '\0'));
        file.tensor("large", 128 * 32, 42, bytes(block_bytes * 32, '\0')).floats("w", {1});
        support::write_file(folder / "x.gguf", file.content());
        return ztensor::open_any(folder / "x.gguf");
    };
    const auto of_ggml = open(36);
    REQUIRE(outcome(of_ggml) == "ok");
    CHECK(of_ggml->find("large").value().format().text() == "gguf.q2_0/1");
    CHECK(of_ggml->find("large").value().read_as<float>().value() == std::vector<float>(4096, -0.0F));
    const auto of_fork = open(34);
    REQUIRE(outcome(of_fork) == "ok");
    for (const char* const name : {"small", "large"}) {
        CHECK(of_fork->find(name).value().format().text() == "gguf.type_42/1");
        CHECK(refusal(of_fork->find(name).value().read_as<float>()) == errc::unsupported_format);
    }
    CHECK(of_fork->find("large").value().component("data").value().stored_bytes() == 34 * 32);
}

TEST_CASE("what is wrong in a header of another format is said of a header, not of a manifest") {
    const support::temp_dir folder;
    support::write_file(folder / "x.gguf", gguf_file().pair(u16_value("k", 1)).pair(u16_value("k", 2)).content());
    const auto file = ztensor::open_any(folder / "x.gguf");
    REQUIRE(refusal(file) == errc::duplicate_key);
    CHECK(says(file.error().sentence(), "in the header"));
    CHECK_FALSE(says(file.error().sentence(), "manifest"));
}

TEST_CASE("parts of GGUF are called by five digits each") {
    const auto is_part = [](std::string_view name) { return ztensor::detail::parse_gguf_part(name).has_value(); };
    CHECK(is_part("m-00001-of-00003.gguf"));
    CHECK(is_part("-00001-of-00003.GGUF"));
    for (const char* const other :
         {"00001-of-00003.gguf", "m_00001-of-00003.gguf", "m-00001_of_00003.gguf", "m-0001-of-00003.gguf",
          "m-00001-of-0003.gguf", "m-00001-of-00003.gg", "m-00001-of-00003.gguf2", "m-00001-of-00003-gguf", "m.gguf"}) {
        CAPTURE(other);
        CHECK_FALSE(is_part(other));
    }
}

TEST_CASE("numbers of parts may be of any integer kind, and their number of tensors left out") {
    const auto value = [](const char* key, unsigned kind, std::size_t size, std::uint64_t number) {
        return text_of_gguf(key) + little_endian(kind, 4) + little_endian(number, size);
    };
    const std::pair<unsigned, std::size_t> kinds[] = {{0, 1}, {1, 1}, {2, 2}, {3, 2}, {4, 4}, {5, 4}, {10, 8}, {11, 8}};
    for (const auto& each : kinds) {
        const unsigned kind = each.first;
        const std::size_t size = each.second;
        CAPTURE(kind);
        const support::temp_dir folder;
        const auto part = [&](std::uint64_t number) {
            return gguf_file().pair(value("split.no", kind, size, number)).pair(value("split.count", kind, size, 2));
        };
        support::write_file(folder / "m-00001-of-00002.gguf", part(0).floats("a", {1}).content());
        support::write_file(folder / "m-00002-of-00002.gguf", part(1).floats("b", {2}).content());
        const auto model = ztensor::open_any(folder / "m-00001-of-00002.gguf");
        REQUIRE(outcome(model) == "ok");
        CHECK(model->size() == 2);
        CHECK(model->read<float>("b").value() == std::vector<float>{2});
    }
}
