// SPDX-License-Identifier: MIT
//
// What edits and appends make of files, byte for byte, recorded in tests/corpus/records/edits.txt: of every valid file
// of the corpora that is not large, and of files whose index is written as no writer of ours writes it (text in chunks,
// heads longer than need be, tags, unknown fields everywhere, keys of attributes in chunks). Each row has a hash of the
// file after each edit, or the code of the refusal, in the order of `edits`; ZTENSOR_RECORD works as record.hpp says.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/counted_memory.hpp"
#include "support/mutants.hpp"
#include "support/outline.hpp"
#include "support/record.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace recorded_edits {

namespace fs = std::filesystem;
namespace cbor = support::cbor;
using support::bytes;
using ztensor::editor;
using ztensor::result;
using ztensor::write_options;

const std::vector<float> edited_in = {1, 2, -3};

write_options unsynced(ztensor::publish_mode mode) {
    return write_options().publish(mode).sync(false);
}

/// The first and the last object.
struct ends {
    std::string first, last;
    ztensor::shape shape; ///< of the first
    std::vector<float> sevens;
};

using change = result<void> (*)(editor& of, const ends& names);

struct recorded_edit {
    const char* what;
    ztensor::publish_mode mode;
    change make;
};

constexpr auto replace = ztensor::publish_mode::replace;
constexpr auto published_in_place = ztensor::publish_mode::in_place;

result<void> add_attribute(editor& of, const ends& names) {
    result<ztensor::attributes> old = of.attributes(names.first);
    if (!old) {
        return old.error();
    }
    old->set("added", 7).set("text", "x");
    return of.attributes(names.first, *std::move(old));
}

result<void> do_many(editor& of, const ends& names) {
    if (const auto done = of.rename(names.last, "renamed"); !done) {
        return done;
    }
    if (const auto done = of.attributes("renamed", ztensor::attributes().set("k", 1.5)); !done) {
        return done;
    }
    return names.first == names.last ? result<void>() : of.remove(names.first);
}

const recorded_edit edits[] = {
    {"nothing", replace, [](editor&, const ends&) { return result<void>(); }},
    {"rename, to the end", replace, [](editor& of, const ends& names) { return of.rename(names.first, "zz renamed"); }},
    {"rename, to the front", replace, [](editor& of, const ends& names) { return of.rename(names.last, "A"); }},
    {"rename, of a length with another head", replace,
     [](editor& of, const ends& names) { return of.rename(names.first, std::string(300, 'n')); }},
    {"attributes", replace,
     [](editor& of, const ends& names) {
         return of.attributes(names.first, ztensor::attributes().set("b", 1).set("a", "text"));
     }},
    {"no attribute", replace,
     [](editor& of, const ends& names) { return of.attributes(names.last, ztensor::attributes()); }},
    {"attributes added", replace, add_attribute},
    {"attributes removed", replace, [](editor& of, const ends& names) { return of.remove_attributes(names.first); }},
    {"the file's attributes", replace,
     [](editor& of, const ends&) { return of.file_attributes(ztensor::attributes().set("k", true)); }},
    {"the file's attributes added", replace,
     [](editor& of, const ends&) { return of.file_attributes(of.file_attributes().set("zz", 1).set("a", "x")); }},
    {"the file's attributes removed", replace, [](editor& of, const ends&) { return of.remove_file_attributes(); }},
    {"remove the first", replace, [](editor& of, const ends& names) { return of.remove(names.first); }},
    {"remove the last", replace, [](editor& of, const ends& names) { return of.remove(names.last); }},
    {"replace", replace, [](editor& of, const ends& names) { return of.replace(names.first, {3}, edited_in); }},
    {"replace by two parts", replace,
     [](editor& of, const ends& names) {
         return of.replace(names.last,
                           ztensor::object_draft("test.pair/1", {3})
                               .component("one", edited_in)
                               .component("two", edited_in, ztensor::store().digest(ztensor::digest::sha256))
                               .attributes(ztensor::attributes().set("k", 1)));
     }},
    {"many", replace, do_many},
    {"replace in place", published_in_place,
     [](editor& of, const ends& names) { return of.replace(names.first, names.shape, names.sevens); }},
};

/// What an edit makes of the file.
result<void> edited(const fs::path& path, const recorded_edit& each, const ends& names) {
    result<editor> of = ztensor::edit(path, unsynced(each.mode));
    if (!of) {
        return of.error();
    }
    const result<void> done = each.make(*of, names);
    return done ? of->finish() : done;
}

result<void> appended(const fs::path& path, ztensor::publish_mode mode) {
    result<ztensor::writer> to = ztensor::writer::append(path, unsynced(mode));
    if (!to) {
        return to.error();
    }
    for (const auto& [name, how] :
         {std::pair("added", ztensor::store()), std::pair("~", ztensor::store().digest(ztensor::digest::sha256))}) {
        if (const auto done = to->add(name, {3}, edited_in, how); !done) {
            return done;
        }
    }
    return to->finish();
}

struct base {
    std::string group, name;
    bytes content;
};

/// Of the corpora: those that open, of at most so many bytes.
void add_corpus(std::vector<base>& to, const std::string& folder) {
    constexpr std::size_t largest = 150'000;
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(fs::path("tests/corpus") / folder)) {
        if (entry.path().extension() == ".zt") {
            paths.push_back(entry.path());
        }
    }
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths) {
        bytes content = support::read_file(path);
        if (content.size() <= largest) {
            to.push_back({folder, path.filename().string(), std::move(content)});
        }
    }
}

bytes long_text(std::string_view text, std::size_t head_bytes) {
    return cbor::head_of_size(cbor::major::text, text.size(), head_bytes) + bytes(text);
}

/// Attributes in every form that a reader takes.
cbor::map odd_attributes_to_edit() {
    cbor::map odd = {{"plain", cbor::number(1)}, {"text", cbor::chunked({"in ", "chunks"})}};
    odd.add(cbor::chunked({"key in", " chunks"}), cbor::tag(4, cbor::array({cbor::number(1), cbor::null})));
    odd.add(long_text("long", 4), cbor::head_of_size(cbor::major::unsigned_integer, 7, 8));
    odd.add(cbor::text("open"), cbor::indefinite_array({cbor::yes, cbor::half_one, cbor::double_one}));
    odd.add(cbor::chunked({"ne", "st"}), cbor::map{{"nested", cbor::byte_string("x")}}.indefinite());
    return odd;
}

/// The object "w" of a file in which something is odd.
support::sample odd_sample(ztensor::version from, const std::string& what) {
    support::sample file(from);
    if (what == "chunked") {
        file.object("format", cbor::chunked({"den", "se"})).component("dtype", cbor::chunked({"f", "32"}));
        file.object_map().respell("shape", cbor::chunked({"sh", "ape"}));
        file.component_map().respell("offset", cbor::chunked({"off", "", "set"}));
        file.component("encoding", cbor::chunked({"raw"}));
    } else if (what == "long") {
        file.component("offset", cbor::head_of_size(cbor::major::unsigned_integer, 64, 8));
        file.object("shape", cbor::head_of_size(cbor::major::array, 1, 4) +
                                 cbor::head_of_size(cbor::major::unsigned_integer, 2, 8));
        file.component_map().respell("offset", long_text("offset", 1)).respell("dtype", long_text("dtype", 8));
    } else if (what == "unknown") {
        file.root("unknown", odd_attributes_to_edit()).object("a field", cbor::tag(1, cbor::number(5)));
        file.component("zz", odd_attributes_to_edit()).component("aa", cbor::null);
    } else if (what == "attributes") {
        file.object("attributes", odd_attributes_to_edit()).root("attributes", odd_attributes_to_edit().indefinite());
    } else if (what == "empty") {
        file.object("attributes", cbor::map()).root("attributes", cbor::map());
    }
    return file;
}

bytes with_name(bytes object, const bytes& name) {
    const bytes before = cbor::text("name") + cbor::text("w");
    const std::size_t at = object.find(before);
    return at == bytes::npos ? object : object.replace(at, before.size(), cbor::text("name") + name);
}

/// Three objects whose names are written in three ways, in a map with or without its count.
bytes odd_file(ztensor::version from, const std::string& what, bool has_count) {
    support::sample file = odd_sample(from, what);
    const bytes object = file.encoded_object();
    const bytes names[] = {cbor::text("b"), cbor::chunked({"mid", "dle"}), long_text("w", 2)};
    const cbor::major kind = file.is_0_1() ? cbor::major::array : cbor::major::map;
    bytes objects = has_count ? cbor::head(kind, 3) : cbor::indefinite_head(kind);
    for (const bytes& name : names) {
        objects += file.is_0_1() ? with_name(object, name) : name + object;
    }
    return file.objects(objects + (has_count ? bytes() : cbor::stop)).file();
}

void add_odd_files(std::vector<base>& to) {
    constexpr ztensor::version generations[] = {ztensor::version::v0_1, ztensor::version::v1_0, ztensor::version::v1_1,
                                                ztensor::version::v1_2};
    constexpr const char* names[] = {"0.1", "1.0", "1.1", "1.2"};
    for (std::size_t i = 0; i < 4; ++i) {
        for (const char* const what : {"plain", "chunked", "long", "unknown", "attributes", "empty"}) {
            to.push_back({"odd", std::string(names[i]) + ' ' + what, odd_sample(generations[i], what).file()});
            to.push_back({"odd", std::string(names[i]) + " three " + what, odd_file(generations[i], what, true)});
            to.push_back({"odd", std::string(names[i]) + " uncounted " + what, odd_file(generations[i], what, false)});
        }
    }
}

/// Of version 2, by its own writer.
bytes written_2(bool any_order) {
    ztensor::writer to =
        ztensor::writer::to_memory(
            write_options().version(ztensor::format_version::v2).alignment_bytes(4096).any_order(any_order))
            .value();
    to.attributes(ztensor::attributes().set("source", "test")).value();
    to.add(any_order ? "m" : "a", {3}, edited_in, ztensor::store().digest(ztensor::digest::xxh3)).value();
    to.add_object("b", ztensor::object_draft("test.pair/1", {3})
                           .component("data", edited_in)
                           .component("more", std::vector<float>{4})
                           .attributes(ztensor::attributes().set("k", "v")))
        .value();
    to.finish().value();
    const std::vector<std::byte> content = to.take_bytes();
    return support::as_string(content);
}

std::vector<base> all_bases() {
    std::vector<base> all;
    for (const char* const folder : {"golden", "rules/valid", "v2/valid", "v2/reference", "v2/sharded"}) {
        add_corpus(all, folder);
    }
    add_odd_files(all);
    const bool has_xxh3 = ztensor::can_compute(ztensor::digest::xxh3); // else the rows stay as they are
    all.push_back({"written", "2", has_xxh3 ? written_2(false) : bytes()});
    all.push_back({"written", "2 in any order", has_xxh3 ? written_2(true) : bytes()});
    return all;
}

/// One word for a row, and a line of details.
std::string word_of(const result<void>& done, const fs::path& path, const std::string& what,
                    std::vector<std::string>& details) {
    const bytes content = support::read_file(path);
    const std::string hash = support::hash_text(support::hashed(content)).substr(0, 8);
    details.push_back(what + ": " + (done ? "ok" : support::place_of(done.error())) + ", " +
                      std::to_string(content.size()) + " bytes, " + hash);
    return ' ' + (done ? hash : std::string(name(done.error().code())));
}

/// How many edits were done.
std::size_t record_base(support::record& record, const base& each, const fs::path& path) {
    support::write_file(path, each.content);
    const auto file = ztensor::reader::open(path, ztensor::read_options().mode(ztensor::io_mode::positional));
    if (!file || file->empty()) {
        record.add(each.group, each.name, file ? "no objects" : support::place_of(file.error()));
        return 0;
    }
    const ztensor::object_view first = (*file)[std::size_t{0}];
    const ends names = {std::string(first.name()), std::string((*file)[file->size() - 1].name()), first.shape(),
                        std::vector<float>(static_cast<std::size_t>(first.element_count() % 1000), 7)};
    std::string words;
    std::vector<std::string> details;
    const result<void> opened = support::done(ztensor::edit(path, unsynced(replace)));
    if (!opened) { // 1.0 and 2, whatever the edit
        words += word_of(opened, path, "edit", details);
    } else {
        for (const recorded_edit& one : edits) {
            support::write_file(path, each.content);
            words += word_of(edited(path, one, names), path, one.what, details);
        }
    }
    for (const ztensor::publish_mode mode : {replace, published_in_place}) {
        support::write_file(path, each.content);
        words += word_of(appended(path, mode), path, mode == replace ? "append" : "append in place", details);
    }
    record.add(each.group, each.name, words.substr(1), details);
    return static_cast<std::size_t>(std::count_if(details.begin(), details.end(), [](const std::string& line) {
        return line.find(": ok") != std::string::npos;
    }));
}

} // namespace recorded_edits

} // namespace

TEST_CASE("edits and appends make of every kind of file the bytes that they made when that was recorded") {
    using namespace recorded_edits;
    const support::temp_dir directory;
    support::record record("tests/corpus/records/edits.txt");
    const std::size_t step = support::counts_memory ? 1 : 8; // a sanitizer takes its time
    std::size_t number = 0, done = 0;
    for (const base& each : all_bases()) {
        const bool is_2 = each.group.compare(0, 2, "v2") == 0 || each.group == "written";
        if (number++ % step != 0 || (is_2 && !ztensor::can_compute(ztensor::digest::xxh3))) {
            record.keep(each.group, each.name);
        } else {
            done += record_base(record, each, directory / "x.zt");
        }
    }
    CHECK(number >= 350);
    CHECK(done * step >= 3500);
    for (const std::string& each : record.finish()) {
        FAIL_CHECK(each);
    }
}
