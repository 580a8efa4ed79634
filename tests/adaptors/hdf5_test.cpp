// SPDX-License-Identifier: MIT
//
// HDF5 files through libhdf5: those of tests/corpus/hdf5, which hdf5_corpus.py wrote by h5py, and odd ones made here.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/hdf5.hpp>
#include <ztensor/import.hpp>
#include <ztensor/json.hpp>
#include <ztensor/reader.hpp>

#include <hdf5.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using support::refusal;
using ztensor::errc;
using ztensor::open_any;
using ztensor::open_hdf5;
using ztensor::read_options;
using ztensor::reader;

namespace {

/// That in the sources, or the one that hdf5_h5py.py has just made.
std::filesystem::path corpus() {
    const char* const made = std::getenv("ZTENSOR_HDF5_CORPUS");
    return made != nullptr ? made : "tests/corpus/hdf5";
}

nlohmann::json attributes_of(const ztensor::attributes_view& of) {
    nlohmann::json all = nlohmann::json::object();
    for (const ztensor::attribute& each : of) {
        all[std::string(each.key)] = ztensor::to_json(each.cbor).value();
    }
    return all;
}

/// As hdf5_corpus.py describes a file.
nlohmann::json content_of(const reader& file) {
    nlohmann::json objects = nlohmann::json::array(), skipped = nlohmann::json::array();
    for (const ztensor::object_view object : file) {
        const ztensor::component_view data = object.data().value();
        const ztensor::shape shape = object.shape();
        const std::vector<std::byte> bytes = data.read_little_endian().value();
        const std::string digest = ztensor::digest_text(ztensor::digest::sha256, bytes);
        objects.push_back({object.name(), data.dtype().text(), data.type().text(),
                           std::vector<std::uint64_t>(shape.begin(), shape.end()),
                           digest.substr(std::string_view("sha256:").size()), attributes_of(object.attributes())});
    }
    for (const ztensor::skipped_item& each : file.skipped()) {
        if (each.where.rfind("attributes of", 0) != 0) {
            skipped.push_back(each.name);
        }
    }
    std::sort(objects.begin(), objects.end());
    std::sort(skipped.begin(), skipped.end());
    return {{"objects", objects}, {"skipped", skipped}, {"attributes", attributes_of(file.attributes())}};
}

const ztensor::skipped_item* find_skipped(const reader& file, std::string_view name) {
    for (const ztensor::skipped_item& each : file.skipped()) {
        if (each.name == name) {
            return &each;
        }
    }
    return nullptr;
}

/// A file that libhdf5 itself writes.
std::filesystem::path written(const std::filesystem::path& path, const std::function<void(hid_t)>& fill) {
    const ztensor::hdf5_lock alone;
    const hid_t file = H5Fcreate(path.string().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    fill(file);
    H5Fclose(file);
    return path;
}

/// Integers from 0 on. Properties are closed.
void add_integers(hid_t to, const char* name, std::vector<hsize_t> shape, hid_t properties = H5P_DEFAULT) {
    hsize_t count = 1;
    for (const hsize_t each : shape) {
        count *= each;
    }
    std::vector<std::int32_t> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<std::int32_t>(i);
    }
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t made = H5Dcreate2(to, name, H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    H5Dwrite(made, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(made);
    H5Sclose(space);
    if (properties != H5P_DEFAULT) {
        H5Pclose(properties);
    }
}

hid_t in_chunks(std::vector<hsize_t> chunk) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
    return properties;
}

/// How many identifiers of each kind libhdf5 has given out.
std::vector<hsize_t> open_identifiers() {
    std::vector<hsize_t> counts;
    for (const H5I_type_t kind :
         {H5I_FILE, H5I_GROUP, H5I_DATATYPE, H5I_DATASPACE, H5I_DATASET, H5I_ATTR, H5I_VFL, H5I_GENPROP_LST}) {
        hsize_t count = 0;
        H5Inmembers(kind, &count);
        counts.push_back(count);
    }
    return counts;
}

} // namespace

// What 1.10 loses by itself where a read fails. What it hands out is counted below.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libhdf5";
}

TEST_CASE("every HDF5 file that h5py wrote holds what h5py reads in it") {
    std::size_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator(corpus())) {
        std::filesystem::path path = each.path();
        if (path.extension() != ".json") {
            continue;
        }
        std::ifstream description(path, std::ios::binary);
        const nlohmann::json expected = nlohmann::json::parse(description);
        CAPTURE(path.replace_extension().string());
        for (const ztensor::io_mode mode : {ztensor::io_mode::automatic, ztensor::io_mode::positional}) {
            const auto file = open_any(path, read_options().mode(mode).importer(ztensor::hdf5()));
            REQUIRE(support::outcome(file) == "ok");
            const nlohmann::json found = content_of(*file);
            CHECK(found["objects"] == expected["objects"]);
            CHECK(found["skipped"] == expected["skipped"]);
            CHECK(found["attributes"] == expected["attributes"]);
            CHECK(file->container() == ztensor::container_kind::hdf5);
            CHECK(file->file_bytes() == std::filesystem::file_size(path));
            CHECK(file->verify().value().ok());
        }
        ++count;
    }
    CHECK(count == 12);
}

TEST_CASE("what HDF5 holds that has no place here is listed with its place and the reason") {
    const reader file = open_hdf5(corpus() / "skipped.h5").value();
    CHECK(file.size() == 1);
    REQUIRE(find_skipped(file, "records") != nullptr);
    CHECK(find_skipped(file, "records")->where.empty());
    CHECK(find_skipped(file, "records")->why == "its elements are records of several fields");
    REQUIRE(find_skipped(file, "reference") != nullptr);
    CHECK(find_skipped(file, "reference")->where == "attributes of /kept");
    const reader none;
    CHECK(none.skipped().empty());
}

TEST_CASE("contiguous elements of an HDF5 file are viewed where they lie, others are not") {
    const auto in = [](const char* file) { return open_hdf5(corpus() / file).value(); };
    const reader types = in("types.h5"), storage = in("storage.h5"), archive = in("stored.keras");
    CHECK(types["little/f8"].data().value().offset() < types.file_bytes());
    CHECK(types.view<double>("little/f8").value().size() == 35);
    CHECK(refusal(types.view<double>("big/f8")) == errc::needs_byteswap);
    CHECK(refusal(types.view<double>("little/f8_chunked")) == errc::not_viewable);
    CHECK(types.read<double>("little/f8_chunked").value() == types.read<double>("little/f8").value());
    CHECK(storage["compact"].data().value().offset() >= storage.file_bytes());
    const ztensor::component_view kernel = archive["layers/dense/vars/0"].data().value();
    CHECK(kernel.offset() < archive.file_bytes());
    CHECK(kernel.bytes().value().size() == 48);
}

TEST_CASE("parts of chunked elements are the same as those of all") {
    const reader file = open_hdf5(corpus() / "storage.h5").value();
    const std::vector<double> all = file.read<double>("deep").value(); // 3 x 4 x 5 x 6
    CHECK(file["deep"].rows(1, 3).read<double>().value() == std::vector<double>(all.begin() + 120, all.end()));
    std::vector<double> box;
    for (std::size_t a = 1; a < 3; ++a) {
        for (std::size_t b = 2; b < 4; ++b) {
            for (std::size_t c = 0; c < 5; ++c) {
                for (std::size_t d = 3; d < 5; ++d) {
                    box.push_back(all[((a * 4 + b) * 5 + c) * 6 + d]);
                }
            }
        }
    }
    CHECK(file["deep"].slice({{1, 3}, {2, 4}, {0, 5}, {3, 5}}).read<double>().value() == box);

    const ztensor::component_view data = file["deep"].data().value();
    std::vector<std::byte> bytes(data.stored_bytes());
    data.read_stored_into(bytes, 0).value();
    for (std::size_t begin = 0; begin < bytes.size(); begin += 37) {
        for (const std::size_t length : std::initializer_list<std::size_t>{1, 7, 8, 9, 48, 49, 240, 961, 2000}) {
            std::vector<std::byte> part((std::min)(length, bytes.size() - begin));
            data.read_stored_into(part, begin).value();
            REQUIRE(std::equal(part.begin(), part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(begin)));
        }
    }
}

TEST_CASE("many threads read HDF5 at the same time") {
    const reader file = open_hdf5(corpus() / "storage.h5").value();
    const std::vector<float> expected = file.read<float>("gzip").value();
    const std::vector<double> deep = file.read<double>("deep").value();
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 20; ++round) {
                const reader own = open_hdf5(corpus() / "storage.h5").value();
                right += own.read<float>("gzip").value() == expected && file.read<float>("gzip").value() == expected &&
                         file.read<double>("deep").value() == deep;
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    CHECK(right == 80);
}

TEST_CASE("without the adaptor HDF5 and Keras archives are refused by what they are") {
    for (const char* name :
         {"types.h5", "storage.1_10.h5", "stored.keras", "deflated.keras"}) { // two behind user blocks
        CAPTURE(name);
        const auto refused = open_any(corpus() / name);
        REQUIRE(refusal(refused) == errc::foreign_file);
        CHECK(std::string(refused.error().what()).find("HDF5 file") != std::string::npos);
        CHECK(std::string(refused.error().what()).find("ztensor/hdf5.hpp") != std::string::npos);
        CHECK(open_any(corpus() / name, read_options().importer(ztensor::hdf5())).value().size() > 0);
    }
    CHECK(refusal(ztensor::open_any(corpus() / "types.h5")) == errc::foreign_file);
    CHECK(
        ztensor::open_any(corpus() / "types.h5", read_options().importer(ztensor::hdf5())).value().contains("scalar"));
    CHECK(refusal(open_hdf5("tests/corpus/foreign/npy/f32.npy")) == errc::foreign_file);
    CHECK(refusal(open_hdf5("tests/corpus/hdf5/no_such.h5")) == errc::file_not_found);
    CHECK(refusal(open_hdf5(nullptr, "x.h5")) == errc::invalid_argument);
}

TEST_CASE("limits hold for HDF5 files") {
    const auto outcome = [](const char* name, const read_options& options) {
        return support::outcome(open_hdf5(corpus() / name, options));
    };
    CHECK(outcome("types.h5", read_options().max_objects(62)) == "limit_exceeded");
    CHECK(outcome("types.h5", read_options().max_objects(63)) == "ok");
    CHECK(outcome("types.h5", read_options().max_manifest_bytes(1000)) == "manifest_too_large");
    CHECK(outcome("deflated.keras", read_options().max_decoded_bytes(1000)) == "limit_exceeded");
    const reader file = open_hdf5(corpus() / "storage.h5", read_options().max_decoded_bytes(1000)).value();
    CHECK(refusal(file.read<double>("deep")) == errc::limit_exceeded);
    CHECK(file.read<std::int32_t>("compact").value() == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5});

    const support::temp_dir directory;
    const reader huge = open_hdf5(written(directory / "huge.h5", [](hid_t to) {
                            const hsize_t shape[] = {hsize_t{1} << 40};
                            const hid_t space = H5Screate_simple(1, shape, nullptr), chunks = in_chunks({1024});
                            H5Dclose(H5Dcreate2(to, "w", H5T_STD_I32LE, space, H5P_DEFAULT, chunks, H5P_DEFAULT));
                            H5Pclose(chunks);
                            H5Sclose(space);
                        })).value();
    CHECK(refusal(huge.read<std::int32_t>("w")) == errc::limit_exceeded);
}

TEST_CASE("groups nested deeper than a name may be long are listed, not followed") {
    const support::temp_dir directory;
    const reader file = open_hdf5(written(directory / "nested.h5", [](hid_t to) {
                            hid_t group = H5Gopen2(to, "/", H5P_DEFAULT);
                            add_integers(group, "top", {2});
                            for (int depth = 0; depth < 2100; ++depth) {
                                const hid_t inner = H5Gcreate2(group, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
                                H5Gclose(group);
                                group = inner;
                            }
                            add_integers(group, "bottom", {2});
                            H5Gclose(group);
                        })).value();
    CHECK(file.size() == 1);
    REQUIRE(file.skipped().size() == 1);
    CHECK(file.skipped()[0].why == "it is a group whose path is longer than 4096 bytes");
}

TEST_CASE("elements in a file beside the HDF5 file are read, those elsewhere are listed") {
    const support::temp_dir directory;
    std::filesystem::create_directory(directory / "inner");
    const auto external = [](const std::string& name, off_t offset) {
        const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_external(properties, name.c_str(), offset, 8);
        return properties;
    };
    const auto empty = [](hid_t to, const char* name, hid_t properties) {
        const hsize_t shape[] = {2};
        const hid_t space = H5Screate_simple(1, shape, nullptr);
        H5Dclose(H5Dcreate2(to, name, H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
        H5Sclose(space);
        H5Pclose(properties);
    };
    support::write_file(directory / "inner" / "data.bin", std::string("....\1\0\0\0\2\0\0\0", 12));
    support::write_file(directory / "secret.bin", std::string("\1\0\0\0\2\0\0\0", 8));
    const auto path = written(directory / "inner" / "e.h5", [&](hid_t to) {
        empty(to, "beside", external("data.bin", 4));
        empty(to, "above", external("../secret.bin", 0));
        empty(to, "absolute", external((directory / "secret.bin").string(), 0));
    });
    const reader file = open_hdf5(path).value();
    CHECK(file.size() == 1);
    CHECK(file.read<std::int32_t>("beside").value() == std::vector<std::int32_t>{1, 2});
    CHECK(find_skipped(file, "above") != nullptr);
    CHECK(find_skipped(file, "absolute") != nullptr);
    std::filesystem::resize_file(directory / "inner" / "data.bin", 11);
    CHECK(refusal(open_hdf5(path)) == errc::truncated);
}

TEST_CASE("an attribute of a group that is called as one of the file is listed") {
    const support::temp_dir directory;
    const auto path = written(directory / "twice.h5", [](hid_t to) {
        const hid_t group = H5Gcreate2(to, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
        const int value = 3;
        for (const auto& [object, name] : {std::pair<hid_t, const char*>(to, "g/a"), {group, "a"}}) {
            const hid_t made = H5Acreate2(object, name, H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT);
            H5Awrite(made, H5T_NATIVE_INT, &value);
            H5Aclose(made);
        }
        H5Sclose(space);
        H5Gclose(group);
    });
    const reader file = open_hdf5(path).value();
    CHECK(file.attributes().size() == 1);
    REQUIRE(file.skipped().size() == 1);
    CHECK(file.skipped()[0].where == "attributes of /g");
}

namespace {

/// Lets libhdf5 know a filter of the tests, or no longer.
void know_filter(H5Z_filter_t number, H5Z_func_t function) {
    const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, number, 1, 1, "of this test", nullptr, nullptr, function};
    H5Zregister(&filter);
}
void forget_filter(H5Z_filter_t number) {
    const ztensor::hdf5_lock alone;
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5Zunregister(number);
}
std::size_t keeps(unsigned, std::size_t, const unsigned*, std::size_t bytes, std::size_t*, void**) {
    return bytes;
}
/// An optional filter is left out then.
std::size_t fails(unsigned, std::size_t, const unsigned*, std::size_t, std::size_t*, void**) {
    return 0;
}

} // namespace

TEST_CASE("elements that need a filter which is not there are an error when they are read") {
    const support::temp_dir directory;
    written(directory / "filter.h5", [](hid_t to) {
        know_filter(300, keeps);
        const hid_t properties = in_chunks({4});
        H5Pset_filter(properties, 300, H5Z_FLAG_MANDATORY, 0, nullptr);
        add_integers(to, "w", {8}, properties);
    });
    CHECK(open_hdf5(directory / "filter.h5").value().read<std::int32_t>("w").value().back() == 7);
    const reader again = open_hdf5(directory / "filter.h5").value();
    forget_filter(300);
    const auto failed = again.read<std::int32_t>("w");
    REQUIRE(refusal(failed) == errc::header_malformed);
    CHECK(std::string(failed.error().what()).find("filter") != std::string::npos);
}

TEST_CASE("a dataset whose filter is not there is listed by its number and name, and the others are read") {
    const support::temp_dir directory;
    const std::pair<H5Z_filter_t, const char*> filters[] = {{300, "of this test"}, {32001, "Blosc"}, {32015, "zstd"}};
    for (const auto& [number, called] : filters) {
        written(directory / "filter.h5", [id = number](hid_t to) {
            know_filter(id, keeps);
            const hid_t properties = in_chunks({4});
            H5Pset_filter(properties, id, H5Z_FLAG_MANDATORY, 0, nullptr);
            add_integers(to, "packed", {8}, properties);
            add_integers(to, "w", {8}, in_chunks({4}));
        });
        forget_filter(number);
        const reader file = open_hdf5(directory / "filter.h5").value();
        CHECK(file.size() == 1);
        CHECK(file.read<std::int32_t>("w").value().back() == 7);
        REQUIRE(file.skipped().size() == 1);
        CHECK(file.skipped()[0].name == "packed");
        const std::string expected = "filter " + std::to_string(number) + ", \"" + called + "\"";
        CAPTURE(file.skipped()[0].why);
        CHECK(file.skipped()[0].why.find(expected) != std::string::npos);
    }
}

TEST_CASE("a dataset whose filter is not there is read if its chunks did not go through the filter") {
    const support::temp_dir directory;
    written(directory / "optional.h5", [](hid_t to) {
        know_filter(301, fails);
        const hid_t properties = in_chunks({4});
        H5Pset_filter(properties, 301, H5Z_FLAG_OPTIONAL, 0, nullptr);
        add_integers(to, "w", {8}, properties);
    });
    forget_filter(301);
    const reader file = open_hdf5(directory / "optional.h5").value();
    CHECK(file.skipped().empty());
    CHECK(file.read<std::int32_t>("w").value().back() == 7);
}

TEST_CASE("an object of an HDF5 file that libhdf5 can't open is listed in its words, and the others are read") {
    const support::temp_dir directory;
    written(directory / "types.h5", [&](hid_t to) {
        add_integers(to, "newer", {8}, in_chunks({4}));
        add_integers(to, "w", {8}, in_chunks({4}));
    });
    std::string content = support::read_file(directory / "types.h5");
    // The message that holds the type of the first dataset: its version and class are one byte, 0x10 for an integer.
    const std::string type("\x10\x08\0\0\x04\0\0\0", 8);
    const std::size_t at = content.find(type);
    REQUIRE(at != std::string::npos);
    content[at] = '\x5b'; // as HDF5 2.0 writes complex numbers
    support::write_file(directory / "newer.h5", content);
    const reader file = open_hdf5(directory / "newer.h5").value();
    CHECK(file.size() == 1);
    REQUIRE(file.skipped().size() == 1);
    CHECK(file.skipped()[0].why.find("libhdf5 can't") != std::string::npos);
}

TEST_CASE("a program's own handler of libhdf5's errors is put back and not called") {
    static int calls;
    calls = 0;
    const H5E_auto2_t mine = [](hid_t, void*) -> herr_t {
        ++calls;
        return 0;
    };
    int data = 0;
    H5Eset_auto2(H5E_DEFAULT, mine, &data);
    const support::temp_dir directory;
    std::string content = support::read_file(corpus() / "types.h5");
    support::write_file(directory / "cut.h5", content.substr(0, 3000));
    const auto cut = open_hdf5(directory / "cut.h5");
    REQUIRE(refusal(cut) == errc::header_malformed);
    CHECK(std::string(cut.error().what()).find("truncated file") != std::string::npos); // as libhdf5 says it
    CHECK(open_hdf5(corpus() / "links.h5").value().size() == 5);
    H5E_auto2_t found = nullptr;
    void* found_data = nullptr;
    H5Eget_auto2(H5E_DEFAULT, &found, &found_data);
    CHECK(found == mine);
    CHECK(found_data == &data);
    CHECK(calls == 0);
    H5Fopen((directory / "none.h5").string().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(calls == 1);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

TEST_CASE("an HDF5 file that is cut off anywhere is an error or lacks nothing that is left") {
    const std::string content = support::read_file(corpus() / "links.h5");
    for (std::size_t size = 0; size < content.size(); size += 97) {
        const support::bytes part(content.substr(0, size));
        const auto opened = open_hdf5(std::make_shared<support::watched_source>(part), "cut.h5");
        CAPTURE(size);
        CHECK_FALSE(opened);
    }
}

TEST_CASE("an error of the source is the error of what reads it") {
    CHECK(open_hdf5(corpus() / "storage.h5")); // what libhdf5 makes once is there
    const std::vector<hsize_t> before = open_identifiers();
    for (const char* name : {"storage.h5", "links.h5", "attributes.h5", "types.h5", "keras_2.1_10.h5"}) {
        const support::bytes content(support::read_file(corpus() / name));
        const auto source = std::make_shared<support::watched_source>(content);
        CHECK(open_hdf5(source, name));
        const std::size_t reads = source->reads.size();
        REQUIRE(reads > 3);
        for (std::size_t failing = 0; failing < reads; ++failing) {
            const auto bad = std::make_shared<support::watched_source>(content);
            bad->first_failing_read = failing;
            bad->failure = errc::file_changed;
            CAPTURE(name, failing);
            CHECK(refusal(open_hdf5(bad, name)) == errc::file_changed);
        }
    }
    CHECK(open_identifiers() == before);
    const auto source = std::make_shared<support::watched_source>(support::read_file(corpus() / "storage.h5"));
    const reader file = open_hdf5(source, "watched.h5").value();
    source->first_failing_read = source->reads.size();
    source->failure = errc::file_changed;
    CHECK(refusal(file.read<float>("gzip")) == errc::file_changed);
}

#if !defined(_WIN32)
TEST_CASE("a process that was forked off while others read HDF5 reads it, or hears an error at once") {
    if (!support::forks_beside_allocating_threads()) {
        return;
    }
    std::optional<reader> file = open_hdf5(corpus() / "storage.h5").value();
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        while (!is_over) {
            static_cast<void>(file->read<float>("gzip"));
        }
    });
    int wrong = 0;
    for (int i = 0; i < 60; ++i) {
        wrong += support::exit_code_of([&] {
                     ::alarm(5); // ends what hangs
                     const auto read = file->read<float>("gzip");
                     const bool is_right = read || read.error().code() == errc::io_error;
                     const auto again = open_hdf5(corpus() / "storage.h5");
                     const bool is_right_again = again || again.error().code() == errc::io_error;
                     file.reset();
                     return is_right && is_right_again ? 7 : 1;
                 }) != 7;
    }
    is_over = true;
    other.join();
    CHECK(wrong == 0);
}
#endif
