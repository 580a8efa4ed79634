// SPDX-License-Identifier: MIT
//
// Opening, to be compared between two commits by compare.py, which compiles this file against the headers of each: it
// asks the public interface alone, and its files come from families.hpp and walk.hpp, which ask nothing. These three
// stay as they are while the library is rebuilt, or figures of different days say nothing about each other.
// usage: frozen [ROUNDS [BYTES]]    prints a line for each kind of index: its name, the median and the least of what
//                                   opening took, and of a bare walk of the same index, in seconds
#include "families.hpp"
#include "table.hpp"
#include "walk.hpp"

#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

struct opened_kind {
    std::string name;
    std::vector<std::byte> file;
    std::size_t index_begin = 0, index_bytes = 0;
};

/// Around an index of 1.2, behind blobs of zeros.
std::vector<std::byte> file_of(const std::string& index, std::size_t blobs) {
    std::string file = "ZTEN1000";
    file.resize(bench::families::next_offset(blobs));
    file += index;
    for (int i = 0; i < 8; ++i) {
        file += static_cast<char>(index.size() >> 8 * i & 0xff);
    }
    file += "ZTEN1000";
    std::vector<std::byte> out(file.size());
    std::memcpy(out.data(), file.data(), file.size());
    return out;
}

/// Plain objects; their version stands in front of them or behind.
std::vector<std::byte> plain(std::size_t count, bool version_is_last = false) {
    using namespace bench::cbor;
    std::string objects = text("objects") + head(5, count);
    for (std::size_t i = 0; i < count; ++i) {
        objects += text(bench::families::layer_name(i)) + bench::families::dense(i);
    }
    const std::string version = key("version", text("1.2.0"));
    return file_of(head(5, 2) + (version_is_last ? objects + version : version + objects), count);
}

std::vector<std::byte> plain_2(std::size_t count) {
    ztensor::writer out =
        ztensor::writer::to_memory(ztensor::write_options().version(ztensor::format_version::v2).alignment_bytes(4096))
            .value();
    const std::vector<float> elements(4);
    for (std::size_t i = 0; i < count; ++i) {
        out.add(bench::families::layer_name(i), {2, 2}, elements).value();
    }
    out.finish().value();
    return out.take_bytes();
}

std::vector<opened_kind> all_kinds(std::size_t index_bytes) {
    std::vector<opened_kind> all;
    for (const int objects : {300, 10'000, 100'000, 1'000'000}) {
        const auto count = static_cast<std::size_t>(objects);
        all.push_back({std::to_string(count) + " plain objects", plain(count)});
    }
    all.push_back({"100000 plain objects, the version behind them", plain(100'000, true)});
    all.push_back({"10000 plain objects of version 2", plain_2(10'000)});
    for (const bench::family& each : bench::families::all) {
        all.push_back({each.name, bench::make_family(each, index_bytes)});
    }
    for (opened_kind& each : all) {
        const auto* const bytes = static_cast<const unsigned char*>(static_cast<const void*>(each.file.data()));
        const ztensor::reader file = ztensor::reader::from_bytes(each.file).value();
        const bool has_magic = bytes[each.file.size() - 1] == '0' && file.version() != ztensor::version::v2;
        const std::size_t footer = file.version() == ztensor::version::v2 ? 40 : has_magic ? 16 : 8;
        each.index_bytes = static_cast<std::size_t>(file.manifest_bytes());
        each.index_begin = each.file.size() - footer - each.index_bytes;
        if (file.version() == ztensor::version::v2) { // its footer says where
            each.index_begin = 0;
            for (std::size_t i = 8; i-- > 0;) {
                each.index_begin = each.index_begin << 8 | bytes[each.file.size() - 40 + i];
            }
        }
    }
    return all;
}

} // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
    const std::vector<opened_kind> all = all_kinds(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4'000'000);
    std::vector<bench::work> works;
    for (const opened_kind& each : all) {
        const auto* const begin =
            static_cast<const unsigned char*>(static_cast<const void*>(each.file.data())) + each.index_begin;
        const auto* const end = begin + each.index_bytes;
        works.emplace_back([&each] { bench::keep(ztensor::reader::from_bytes(each.file).value().size()); });
        works.emplace_back([=] { bench::keep(static_cast<std::size_t>(bench::walk(begin, end) - begin)); });
    }
    const std::vector<bench::duration> times = bench::medians(rounds, works);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bench::duration &open = times[2 * i], &walk = times[2 * i + 1];
        std::printf("%s\t%.9f\t%.9f\t%.9f\t%.9f\n", all[i].name.c_str(), open.median, open.least, walk.median,
                    walk.least);
    }
}
