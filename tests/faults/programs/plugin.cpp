// SPDX-License-Identifier: MIT
//
// A module that verifies a file on several threads: see plugin_host.cpp. Its symbols are hidden, but one.
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>

#include <cstddef>

extern "C" __attribute__((visibility("default"))) std::size_t read_model(const char* path);

// Bytes are used where they lie, so that the pool's threads keep no memory for their next call: see plugin_host.cpp.
extern "C" std::size_t read_model(const char* path) {
    const auto options = ztensor::read_options().threads(4).stable_file();
    const auto model = ztensor::reader::open(path, options);
    const auto report = model ? model->verify() : model.error();
    return report && report->complete() ? model->size() : 0;
}
