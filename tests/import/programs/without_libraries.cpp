// SPDX-License-Identifier: MIT
//
// A program that was built without nlohmann/json, zlib and xxHash opens what needs none of them, and says of the rest
// what is lacking.
#include <ztensor/import.hpp>
#include <ztensor/writer.hpp>

#include <cstdio>
#include <string>

namespace {

int failures = 0;

void expect(const std::string& what, const ztensor::result<void>& done, const char* code) {
    const std::string found = done ? "ok" : std::string(name(done.error().code()));
    if (found != code || (!done && done.error().sentence().find("built without") == std::string::npos)) {
        std::printf("%s: %s, not %s\n", what.c_str(), found.c_str(), code);
        ++failures;
    }
}

void expect_open(const char* path, const char* code) {
    const auto file = ztensor::open_any(std::string("tests/corpus/") + path);
    expect(path, file ? ztensor::result<void>() : file.error(), code);
}

} // namespace

int main() {
    expect_open("foreign/safetensors/one.safetensors", "ok"); // plain enough
    expect_open("foreign/safetensors/every_dtype.safetensors", "not_built_in");
    expect_open("foreign/npy/f32.npy", "ok");
    expect_open("foreign/npz/stored.npz", "ok");
    expect_open("foreign/npz/compressed.npz", "not_built_in");
    expect_open("golden/v1.2-digests.zt", "ok");
    expect_open("v2/valid/container-a-data-shard.zt", "ok"); // which has no manifest
    expect_open("v2/valid/reference-canonical.zt", "unsupported_digest");
    expect_open("v2/sharded/model.zt", "unsupported_digest");
    const auto options = ztensor::write_options().version(ztensor::format_version::v2);
    const auto writing = ztensor::writer::to_memory(options);
    expect("writing version 2", writing ? ztensor::result<void>() : writing.error(), "unsupported_digest");
    return failures == 0 ? 0 : 1;
}
