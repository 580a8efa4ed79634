// SPDX-License-Identifier: MIT
#include "scales.hpp"

#include "command.hpp"
#include "input.hpp"
#include "terminal.hpp"

#include <algorithm>

namespace zt {
namespace {

/// Scales of codes whose names end so: what stands there in place of the end.
struct convention {
    std::string_view codes;
    std::string_view scales;
};

/// Words for the last part of a name, behind the last dot or slash.
constexpr convention by_part[] = {
    {"weight", "scale"},                  // DeepSeek-V4
    {"weight", "scales"},                 // MLX
    {"weight", "SCB"},                    // bitsandbytes of 8 bits
    {"weight", "scale_weight"},           // older ComfyUI
    {"weight", "weights_scaling_factor"}, // TensorRT-LLM
    {"qweight", "scales"},                // GPTQ, AWQ
    {"qweight", "scale"},
    {"qweight", "wscales"}, // Nunchaku
    {"qweight", "weight_scale"},
    {"q_weight", "q_scale"}, // ExLlama
    {"W_q", "scale"},        // HQQ
    {"blocks", "scales"},    // gpt-oss, its original names
    {"_data", "_scale"},     // Quanto
};

/// Words for the end of a name, whatever stands before it.
constexpr convention by_end[] = {
    {"", "_scale"},           // compressed-tensors, ModelOpt, ComfyUI
    {"", "_scale_inv"},       // DeepSeek-V3, transformers
    {"", "_scales"},          //
    {"", ".absmax"},          // bitsandbytes of 4 bits
    {"_packed", "_scale"},    // compressed-tensors
    {"_blocks", "_scales"},   // gpt-oss
    {"_qdata", "_scale"},     // torchao
    {"_quantized", "_scale"}, // ONNX Runtime
    {"_Q4", "_scales"},       // its blocks
    {"_Q8", "_scales"},
};

/// What bitsandbytes keeps beside weights of 4 bits, which it also stores as floats that are none.
constexpr std::string_view bitsandbytes_state = ".quant_state.";

/// Integers of 8 or 32 bits, and floats of at most 8: the elements of other tensors are their numbers.
bool may_hold_codes(const ztensor::object_view& object) {
    const auto data = object.format() == ztensor::format::dense ? object.data() : object.component("data");
    if (object.format() != ztensor::format::dense || !data) {
        return false;
    }
    const std::string type = type_of(*data);
    return type == "i8" || type == "u8" || type == "i32" || type == "u32" || type.substr(0, 3) == "f8_" ||
           type.substr(0, 3) == "f4_" || ztensor::find_narrow_type(type) != nullptr;
}

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::string with_end(std::string_view name, const convention& of) {
    return std::string(name.substr(0, name.size() - of.codes.size())) + std::string(of.scales);
}

} // namespace

scale_finder::scale_finder(const std::vector<ztensor::reader>& files) {
    for (const ztensor::reader& file : files) {
        for (const ztensor::object_view object : file) {
            names_.push_back(object.name());
        }
    }
    std::sort(names_.begin(), names_.end());
}

bool scale_finder::has(const std::string& name) const {
    return std::binary_search(names_.begin(), names_.end(), std::string_view(name));
}

std::string scale_finder::scales_of(const ztensor::object_view& object) const {
    const std::string_view name = object.name();
    const std::string state = std::string(name) + std::string(bitsandbytes_state);
    const auto found = std::lower_bound(names_.begin(), names_.end(), std::string_view(state));
    if (found != names_.end() && found->substr(0, state.size()) == state) {
        return std::string(*found);
    }
    if (!may_hold_codes(object)) {
        return "";
    }
    const std::string_view part = name.substr(name.find_last_of("./") + 1); // all of it where there is none
    for (const convention& each : by_part) {
        if (part == each.codes && has(with_end(name, each))) {
            return with_end(name, each);
        }
    }
    for (const convention& each : by_end) {
        if (ends_with(name, each.codes) && has(with_end(name, each))) {
            return with_end(name, each);
        }
    }
    return "";
}

void add_raw_values_option(CLI::App& command, bool& takes_raw_values) {
    command.add_flag("--raw-values", takes_raw_values,
                     "Take the values of quantized weights as they are stored, without scales that are other tensors");
}

void refuse_codes(const std::vector<ztensor::reader>& files, const std::string& what,
                  const std::function<bool(const ztensor::object_view&)>& takes) {
    constexpr std::size_t most_told = 3;
    const scale_finder finder(files);
    std::string told;
    std::size_t count = 0;
    for (const ztensor::reader& file : files) {
        for (const ztensor::object_view object : file) {
            const std::string scales = takes(object) ? finder.scales_of(object) : "";
            if (!scales.empty() && ++count <= most_told) {
                told += (count == 1 ? "" : ", ") + printable(object.name()) + " (" + printable(scales) + ")";
            }
        }
    }
    if (count != 0) {
        throw content_error(what + " would be of codes without their scales, which are other tensors, in brackets: " +
                            told + (count > most_told ? " and " + grouped(count - most_told) + " more" : "") +
                            "; --raw-values takes the values as they are stored");
    }
}

} // namespace zt
