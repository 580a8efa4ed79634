// SPDX-License-Identifier: MIT
//
// Files that are cut off, rewritten and appended to under an open reader. What reads gives a value or an error, in
// every mode; views alone look at the mapping, unless the caller promised that the file does not change.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/array.hpp>
#include <ztensor/copy.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/import.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace changing {

using support::outcome;
using ztensor::io_mode;
using ztensor::reader;

constexpr std::size_t rows = 1000, columns = 300; // large enough for frames, pieces, and slices of many runs

std::vector<float> all_numbers() {
    std::vector<float> made(rows * columns);
    std::uint32_t state = 1;
    for (float& each : made) {
        state = state * 1664525U + 1013904223U;
        each = static_cast<float>(state >> 8);
    }
    return made;
}

support::bytes content(bool has_digests) {
    const std::vector<float> floats = all_numbers();
    const auto written = support::written(ztensor::write_options(), [&](ztensor::writer& to) {
        const auto how = [&](bool is_zstd) {
            const ztensor::store plain = is_zstd ? ztensor::store().zstd() : ztensor::store();
            return has_digests ? ztensor::store(plain).digest(ztensor::digest::crc32c) : plain;
        };
        to.add("raw", {rows, columns}, floats, how(false)).value();
        to.add("zstd", {rows, columns}, floats, how(true)).value();
        std::vector<std::uint64_t> indices(rows), pointers(rows + 1), coords;
        for (std::size_t i = 0; i < rows; ++i) {
            indices[i] = i % columns;
            pointers[i + 1] = i + 1;
            coords.push_back(i);
        }
        const ztensor::span<const float> values = ztensor::span<const float>(floats).first(rows);
        to.add_csr("csr", {rows, columns}, values, indices, pointers, how(false)).value();
        to.add_coo("coo", {rows}, values, coords, how(true)).value();
        const std::vector<std::uint32_t> words(rows, 0x76543210);
        const std::vector<float> groups(rows, 1.0F);
        to.add_quantized("weights", {rows, 8}, {4, 8, "8_per_u32"}, words, groups, groups).value();
        to.add_coo("bools", {rows}, std::vector<bool>(rows, true), coords, how(false)).value();
    });
    return support::as_string(ztensor::bytes_view(written));
}

ztensor::result<ztensor::bytes_view> in_pieces(const ztensor::component_view& component) {
    auto pieces = ztensor::component_pieces::open(component).value();
    auto piece = pieces.next();
    while (piece && !piece->empty()) {
        piece = pieces.next();
    }
    return piece;
}

/// What every way to read "all" comes to. No view is looked at.
std::vector<std::pair<std::string, std::string>> read_everything(const reader& file) {
    std::vector<std::pair<std::string, std::string>> seen;
    const auto note = [&](const char* what, const auto& answer) { seen.emplace_back(what, outcome(answer)); };
    std::vector<float> into(rows * columns);
    std::vector<double> wide(rows * columns);
    for (const char* const name : {"raw", "zstd"}) {
        note("read", file.read<float>(name));
        note("read_as", file.read_as<double>(name));
        note("read_into", file.read_into(name, into));
        note("read_as_into", file.read_as_into(name, wide));
        note("load", file.load<float>(name));
        note("read_rows", file[name].rows(0, rows).read<float>());
        note("read_slice", file[name].slice({{0, rows}, {3, 5}}).read<float>());
        note("verify", file.find(name)->data()->verify());
        ztensor::load_plan plan(file);
        plan.add(name, into);
        plan.add_as(name, wide);
        note("plan", plan.run());
        note("pieces", in_pieces(file.find(name)->data().value()));
    }
    const auto csr = ztensor::csr_view<float>::read(*file.find("csr"));
    note("csr", csr);
    note("csr rows", ztensor::csr_view<std::byte>::from_rows(*file.find("csr"), 0, rows));
    note("coo", ztensor::coo_view<float>::read(*file.find("coo")));
    // Borrowed values are a view: whoever looks at them looks at the mapping. Checking indices does not.
    note("csr from", ztensor::csr_view<float>::from(*file.find("csr")));
    note("coo from", ztensor::coo_view<bool>::from(*file.find("bools"))); // which are never borrowed
    note("bools", ztensor::coo_view<bool>::read(*file.find("bools")));
    ztensor::writer to = ztensor::writer::to_memory().value();
    note("copy", ztensor::copy(file, to));
    const support::temp_dir exports;
    const auto dense = ztensor::export_options().sync(ztensor::sync_level::none).select([](const auto& object) {
        return object.format().text() == "dense";
    });
    note("export", ztensor::export_safetensors(file, exports / "f.safetensors", dense));
    note("export npz", ztensor::export_npz(file, exports / "f.npz", dense));
    note("unpack",
         ztensor::quantized_view::from(*file.find("weights")).and_then([](const auto& view) { return view.unpack(); }));
    note("dequantize", ztensor::quantized_view::from(*file.find("weights")).and_then([](const auto& view) {
        return view.dequantize();
    }));
    note("verify all", file.verify());
    return seen;
}

void overwrite(const std::filesystem::path& path, std::size_t from, const support::bytes& with) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(from));
    file.write(with.data(), static_cast<std::streamsize>(with.size()));
    REQUIRE(file.good());
}

using ztensor::read_options;
const read_options mapped = read_options().mode(io_mode::mapped);
const read_options positional = read_options().mode(io_mode::positional);
const std::vector<read_options> every_mode = {mapped, positional};

/// In which files can be cut off.
const std::vector<read_options> modes_of_cuts =
    support::cuts_mapped_files ? every_mode : std::vector<read_options>{positional};

/// For a file in those modes, with and without digests: `change(path, content)` while it is open, then `check`.
template <class Change, class Check>
void in_modes(const std::vector<read_options>& modes, Change&& change, Check&& check) {
    const support::temp_dir directory;
    const std::filesystem::path path = directory / "f.zt";
    for (const bool has_digests : {false, true}) {
        const support::bytes original = content(has_digests);
        for (const read_options& mode : modes) {
            CAPTURE(has_digests, mode.mode() == io_mode::mapped, mode.is_stable_file());
            support::write_file(path, original);
            const reader file = reader::open(path, mode).value();
            for (const auto& [what, answer] : read_everything(file)) {
                CAPTURE(what);
                REQUIRE(answer == "ok"); // whatever is kept for the next time is kept now
            }
            change(path, original);
            check(file, has_digests);
        }
    }
}

template <class Change, class Check>
void in_every_mode(Change&& change, Check&& check) {
    in_modes(every_mode, std::forward<Change>(change), std::forward<Check>(check));
}

} // namespace changing

} // namespace

TEST_CASE("of a file that is cut off under its reader everything that reads says file_changed, in every mode") {
    for (const std::size_t left : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{100}}) {
        changing::in_modes(
            changing::modes_of_cuts,
            [&](const auto& path, const support::bytes&) { std::filesystem::resize_file(path, left); },
            [](const ztensor::reader& file, bool has_digests) {
                for (const auto& [what, answer] : changing::read_everything(file)) {
                    CAPTURE(what);
                    const bool reads_nothing = what.find("verify") == 0 && !has_digests;
                    // Where values are borrowed, indices alone are read.
                    CHECK(answer == (reads_nothing ? "ok" : "file_changed"));
                }
            });
    }
}

TEST_CASE("where it was promised that a file does not change, a cut that is there before a call is an error, too") {
    if (!support::cuts_mapped_files) {
        return;
    }
    changing::in_modes(
        {changing::read_options(changing::mapped).stable_file(),
         changing::read_options(changing::positional).stable_file()},
        [](const auto& path, const support::bytes&) { std::filesystem::resize_file(path, 64); },
        [](const ztensor::reader& file, bool has_digests) {
            for (const auto& [what, answer] : changing::read_everything(file)) {
                CAPTURE(what);
                const bool reads_nothing = what.find("verify") == 0 && !has_digests;
                CHECK(answer == (reads_nothing ? "ok" : "file_changed"));
            }
        });
}

TEST_CASE("what still lies before the cut is still read") {
    changing::in_modes(
        changing::modes_of_cuts,
        [](const auto& path, const support::bytes& original) {
            std::filesystem::resize_file(path, original.size() - 40); // the end of the index, which readers have
        },
        [](const ztensor::reader& file, bool) {
            for (const auto& [what, answer] : changing::read_everything(file)) {
                CAPTURE(what);
                CHECK(answer == "ok");
            }
            CHECK(file.read<float>("raw").value() == changing::all_numbers());
        });
}

TEST_CASE("a file that is appended to is read as before") {
    changing::in_every_mode(
        [](const auto& path, const support::bytes& original) {
            std::filesystem::resize_file(path, original.size() + 5000);
        },
        [](const ztensor::reader& file, bool) {
            for (const auto& [what, answer] : changing::read_everything(file)) {
                CAPTURE(what);
                CHECK(answer == "ok");
            }
            CHECK(file.read<float>("zstd").value() == changing::all_numbers());
            if (file.is_mapped() && support::host_is_little_endian()) {
                CHECK(file.view<float>("raw").value()[1] == changing::all_numbers()[1]);
            }
        });
}

TEST_CASE("a file that is rewritten in place gives values or refusals, and wrong ones only without digests") {
    for (const char filler : {'\0', '\x01', '\x7f', '\xff'}) {
        changing::in_every_mode(
            [&](const auto& path, const support::bytes& original) {
                changing::overwrite(path, 64, support::bytes(original.size() - 64 - 16, filler));
            },
            [](const ztensor::reader& file, bool has_digests) {
                const std::set<std::string> refusals = {
                    "ok",          "decode_failed",   "decode_size",   "sparse_indptr",  "sparse_index",
                    "sparse_size", "digest_mismatch", "size_mismatch", "limit_exceeded", "bad_bool"};
                for (const auto& [what, answer] : changing::read_everything(file)) {
                    CAPTURE(what, answer);
                    CHECK(refusals.count(answer) == 1);
                    if (has_digests && (what == "read" || what == "load" || what == "plan" || what == "read_as")) {
                        CHECK(answer == "digest_mismatch");
                    }
                }
                CHECK(file.verify().value().ok() == !has_digests);
            });
    }
}

TEST_CASE("indices that were checked stay what they were, whoever writes to the file") {
    changing::in_every_mode([](const auto&, const support::bytes&) {},
                            [](const ztensor::reader& file, bool) {
                                const auto csr = ztensor::csr_view<float>::from(*file.find("csr")).value();
                                const std::vector<float> before = csr.to_dense().value();
                                for (const ztensor::component_view part : *file.find("csr")) {
                                    if (part.role() != "values") {
                                        changing::overwrite(
                                            file.path(), static_cast<std::size_t>(part.offset()),
                                            support::bytes(static_cast<std::size_t>(part.stored_bytes()), '\xff'));
                                    }
                                }
                                CHECK(csr.to_dense().value() == before); // and writes nowhere else
                                CHECK(csr.to_coo().value().to_dense().value() == before);
                                CHECK(csr.row(3).columns[0] == 3);
                            });
}

TEST_CASE("a file replaced by rename is read as it was") {
    changing::in_every_mode(
        [](const auto& path, const support::bytes&) {
            support::write_file(path.string() + ".new", "something else");
            std::error_code refused;
            std::filesystem::rename(path.string() + ".new", path, refused);
            CHECK((support::is_windows || !refused)); // which may refuse it as long as the file is open
        },
        [](const ztensor::reader& file, bool) {
            CHECK(file.read<float>("raw").value() == changing::all_numbers());
            CHECK(file.read<float>("zstd").value() == changing::all_numbers());
        });
}

TEST_CASE("files that are cut off and written while they are read give values or errors") {
    if (!support::cuts_mapped_files) {
        return;
    }
    constexpr std::size_t elements = std::size_t{3} << 20;
    const std::vector<float> floats(elements, 1.5F);
    const std::vector<ztensor::bfloat16> narrow(elements, ztensor::bfloat16(1.5F));
    const auto written = support::written(ztensor::write_options(), [&](ztensor::writer& to) {
        to.add("raw", {elements / 4, 4}, floats).value();
        to.add("narrow", {elements}, narrow).value();
        to.add("zstd", {elements}, floats, ztensor::store().zstd()).value();
        to.add("checked", {elements}, floats, ztensor::store().digest(ztensor::digest::crc32c)).value();
    });
    const support::bytes content = support::as_string(ztensor::bytes_view(written));
    const support::temp_dir directory;
    support::write_file(directory / "f.zt", content);
    const auto file = ztensor::reader::open(directory / "f.zt", changing::mapped);
    REQUIRE(file.has_value());

    std::atomic<bool> is_over{false};
    std::thread vandal([&] {
        for (std::size_t i = 0; !is_over; ++i) {
            std::filesystem::resize_file(directory / "f.zt", (i * 7919) % content.size());
            support::write_file(directory / "f.zt", content);
            std::this_thread::sleep_for(std::chrono::milliseconds(i % 5)); // somebody may be in the middle of it then
        }
    });
    const std::set<std::string> expected = {"ok", "file_changed", "decode_failed", "decode_size"};
    std::vector<float> into(elements);
    std::size_t whole = 0;
    for (int i = 0; i < 5000 && whole < 100; ++i) {
        ztensor::load_plan plan(*file);
        plan.add("raw", into);
        const std::string outcomes[] = {
            support::outcome(file->read_into("raw", into)),
            support::outcome(file->read_as_into("narrow", into)),
            support::outcome(file->read_into("zstd", into)),
            support::outcome((*file)["raw"].slice({{0, elements / 4}, {1, 2}}).read<float>()),
            support::outcome(file->verify(2)),
            support::outcome(plan.run(ztensor::load_options().threads(2)))};
        for (const std::string& each : outcomes) {
            CHECK(expected.count(each) == 1);
            whole += each == "ok" ? 1 : 0;
        }
    }
    is_over = true;
    vandal.join();
    for (const char* const name : {"raw", "zstd"}) { // now that nobody writes
        std::fill(into.begin(), into.end(), 0.0F);
        REQUIRE(file->read_into(name, into).has_value());
        CHECK(into == floats);
    }
}

#if defined(_WIN32)

TEST_CASE("a file that is mapped can't be cut off") {
    changing::in_modes(
        {changing::mapped},
        [](const auto& path, const support::bytes& original) {
            std::error_code refused;
            std::filesystem::resize_file(path, 64, refused);
            CHECK(refused);
            CHECK(std::filesystem::file_size(path) == original.size());
        },
        [](const ztensor::reader& file, bool) {
            for (const auto& [what, answer] : changing::read_everything(file)) {
                CAPTURE(what);
                CHECK(answer == "ok");
            }
        });
}

#endif
