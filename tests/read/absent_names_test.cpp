// SPDX-License-Identifier: MIT
//
// What is said of an object that is not there: its name once, and the name that was probably meant.
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/detail/index/names.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace absent_names {

using support::refusal;
using ztensor::errc;
using ztensor::reader;
using ztensor::detail::edits_between;

void add_names(ztensor::writer& out, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        out.add(name, {1}, std::vector<float>{1}).value();
    }
}

reader with_names(const std::vector<std::string>& names) {
    return support::reopened({}, [&](ztensor::writer& out) { add_names(out, names); });
}

const std::vector<std::string> of_a_model = {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.1.attn_q.weight",
                                             "norm", "x"};

/// How many edits there are, counted in the plain way.
std::size_t counted(const std::string& a, const std::string& b) {
    std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            table[i][j] = i == 0   ? j
                          : j == 0 ? i
                                   : std::min({table[i - 1][j] + 1, table[i][j - 1] + 1,
                                               table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
        }
    }
    return table[a.size()][b.size()];
}

} // namespace absent_names

} // namespace

TEST_CASE("an object that is not there is named once, with the name that was probably meant") {
    using namespace absent_names;
    const reader model = with_names(of_a_model);
    const struct {
        const char* asked;
        const char* said;
    } cases[] = {
        {"blk.0.attn_q.weigth",
         "there is no object \"blk.0.attn_q.weigth\"; did you mean \"blk.0.attn_q.weight\"?"},
        {"lk.0.attn_q.weight", "there is no object \"lk.0.attn_q.weight\"; did you mean \"blk.0.attn_q.weight\"?"},
        {"blk.1.attn_k.weight", "there is no object \"blk.1.attn_k.weight\"; did you mean \"blk.0.attn_k.weight\"?"},
        {"nrm", "there is no object \"nrm\"; did you mean \"norm\"?"},
        {"nm", "there is no object \"nm\""}, // too short to be meant for anything
        {"y", "there is no object \"y\""},
        {"bias", "there is no object \"bias\""},
        {"", "there is no object \"\""},
        {"attn_q.weight", "there is no object \"attn_q.weight\""},
    };
    for (const auto& each : cases) {
        const auto found = model.find(each.asked);
        REQUIRE(refusal(found) == errc::object_not_found);
        CHECK(found.error().what() == each.said);
        CHECK(found.error().object() == each.asked);
        CHECK(model[each.asked].read<float>().error().what() == each.said);
        CHECK(model.read<float>(each.asked).error().what() == each.said);
        std::vector<float> into(1);
        CHECK(ztensor::load_plan(model).add(each.asked, into).run().error().what() == each.said);
    }
}

TEST_CASE("a joined reader, an editor and a name to be tied to say as much") {
    using namespace absent_names;
    const support::temp_dir directory;
    const auto write = [&](const char* file, const std::vector<std::string>& names) {
        ztensor::writer out = ztensor::writer::create(directory / file).value();
        add_names(out, names);
        CHECK(out.add_tied("y", "none").error().sentence() == "there is no object \"none\" that it could be tied to");
        out.finish().value();
        return reader::open(directory / file).value();
    };
    std::vector<reader> files;
    files.push_back(write("f", of_a_model));
    files.push_back(write("g", {"output.weight"}));
    const reader all = reader::join(std::move(files)).value();
    CHECK(all.find("output.weigt").error().sentence() ==
          "there is no object \"output.weigt\"; did you mean \"output.weight\"?");
    CHECK(all.find("norn").error().sentence() == "there is no object \"norn\"; did you mean \"norm\"?");
    ztensor::editor change = ztensor::edit(directory / "f").value();
    CHECK(change.rename("norn", "z").error().what() ==
          (directory / "f").string() + ": there is no object \"norn\"; did you mean \"norm\"?");
    change.remove("norm").value();
    CHECK(change.remove("norm").error().sentence() == "there is no object \"norm\"");
}

TEST_CASE("edits between names are counted up to a bound") {
    using absent_names::counted;
    using absent_names::edits_between;
    std::mt19937 random(7);
    const auto some_word = [&] {
        std::string word(random() % 9, 'a');
        std::generate(word.begin(), word.end(), [&] { return "abc"[random() % 3]; });
        return word;
    };
    for (int i = 0; i < 20'000; ++i) {
        const std::string a = some_word(), b = some_word();
        const std::size_t edits = counted(a, b);
        for (const std::size_t most : {std::size_t{1}, std::size_t{2}}) {
            CAPTURE(a, b, most);
            const auto found = edits_between(a, b, most);
            REQUIRE(found.has_value() == (edits <= most));
            REQUIRE((!found || *found == edits));
        }
    }
    CHECK(edits_between(std::string(256, 'a'), std::string(255, 'a'), 2) == std::optional<std::size_t>(1));
    CHECK(!edits_between(std::string(257, 'a'), std::string(256, 'a'), 2));
}

TEST_CASE("of very many names the first few thousand are looked at") {
    using namespace absent_names;
    std::size_t looked_at = 0;
    const auto name_at = [&](std::size_t) {
        ++looked_at;
        return ztensor::detail::string_view("another");
    };
    CHECK(ztensor::detail::no_object_called("anther", 1'000'000, name_at).code() == errc::object_not_found);
    CHECK(looked_at <= 4096);
}
