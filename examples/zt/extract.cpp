// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "numbers.hpp"
#include "rewriting.hpp"
#include "scales.hpp"
#include "terminal.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zt {
namespace {

struct extract_options {
    std::string path;
    std::string name;
    std::string out;
    std::string dtype;
    input_options input;
    bool takes_raw_values = false;
};

exit_code extract_tensor(const extract_options& options) {
    const std::vector<ztensor::reader> files = open_inputs(options.path, options.input);
    const ztensor::reader* const found = find_file(files, options.name);
    const ztensor::reader& file = found != nullptr ? *found : files.front(); // which says that it has none
    require_other_file(options.out, options.path, files);
    if (!options.takes_raw_values) {
        refuse_codes(files, "a .npy file",
                     [&](const ztensor::object_view& object) { return object.name() == options.name; });
    }
    ztensor::export_options how;
    if (!options.dtype.empty()) {
        how.floats_as(*ztensor::find_dtype(options.dtype));
    }
    const waiting_line waiting("writing " + options.out);
    const ztensor::reader numbers = with_dense(file, file.find(options.name).value());
    auto done = ztensor::export_npy(numbers.find(options.name).value(), options.out, how);
    if (!done) {
        throw ztensor::exception(with_way_out(std::move(done).error(), numbers));
    }
    return good;
}

} // namespace

void add_extract(tool& to) {
    const auto options = std::make_shared<extract_options>();
    CLI::App* const command =
        add_command(to, "extract", "Write one tensor as a .npy file", "extract model.zt encoder.weight weight.npy",
                    [options] { return extract_tensor(*options); });
    command->add_option("FILE", options->path, "The file to read, of any format, or the folder or index of shards")
        ->required();
    command->add_option("NAME", options->name, "The object")->required();
    command->add_option("OUT", options->out, "The .npy file to write")->required();
    command->add_option("--dtype", options->dtype, "Turn floats into f64, f32 or f16: NumPy has no bf16")
        ->type_name("DTYPE")
        ->check(CLI::IsMember({"f64", "f32", "f16"}));
    options->input.add_options(*command);
    add_raw_values_option(*command, options->takes_raw_values);
}

} // namespace zt
