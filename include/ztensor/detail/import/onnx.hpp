// SPDX-License-Identifier: MIT
//
// ONNX models: their initializers and constants, dense and sparse, of all graphs and functions, wherever these keep
// their elements. Of the rest of a model only its metadata_props are looked at, which become attributes.
#ifndef ZTENSOR_DETAIL_IMPORT_ONNX_HPP
#define ZTENSOR_DETAIL_IMPORT_ONNX_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/onnx_graphs.hpp>
#include <ztensor/detail/import/onnx_objects.hpp>
#include <ztensor/detail/import/onnx_tensor.hpp>
#include <ztensor/detail/import/protobuf.hpp>
#include <ztensor/result.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class onnx_importer {
public:
    explicit onnx_importer(const foreign_file& file)
        : file_(file), stream_(*file.source, 0, file.source->size(), file.options.max_manifest_bytes_), from_(stream_),
          objects_(file, from_, index_), graphs_(from_, objects_) {}

    [[nodiscard]] result<imported> import() {
        ZTENSOR_TRY(read_model());
        objects_.finish();
        ZTENSOR_TRY_ASSIGN(byte_buffer index, index_.finish(file_.options.max_manifest_bytes_));
        imported made;
        made.kind = container_kind::onnx;
        made.source = objects_.source();
        made.skipped = index_.take_skipped();
        made.index = std::move(index);
        made.blobs_may_overlap = true; // external data is ranges that the model chose
        return made;
    }

private:
    static constexpr std::uint64_t training_info = 20, function = 25;

    [[nodiscard]] result<void> read_model() {
        constexpr std::uint64_t graph = 7, metadata_props = 14;
        bool has_graph = false;
        bool has_more = false;
        result<void> read = from_.for_each_field(file_.source->size(), [&](const proto_field& field) {
            has_graph = has_graph || field.number == graph;
            has_more = has_more || field.number == training_info || field.number == function;
            return field.number == graph
                       ? from_.in_message(field, [&](std::uint64_t end) { return graphs_.read(end, onnx_root()); })
                   : field.number == metadata_props
                       ? from_.in_message(field, [&](std::uint64_t end) { return read_property(end); })
                       : from_.skip(field);
        });
        if (read && !has_graph) {
            return fail(errc::schema_missing, "the model has no graph");
        }
        return read && has_more ? read_beside_graph() : std::move(read);
    }

    /// What the model has besides its graph, whose names go before those of all others wherever it stands.
    [[nodiscard]] result<void> read_beside_graph() {
        std::uint64_t count = 0;
        from_.seek(0);
        return from_.for_each_field(file_.source->size(), [&](const proto_field& field) {
            return field.number == training_info
                       ? from_.in_message(field, [&](std::uint64_t end) { return read_training(end, count++); })
                   : field.number == function
                       ? from_.in_message(field, [&](std::uint64_t end) { return read_function(end, count++); })
                       : from_.skip(field);
        });
    }

    [[nodiscard]] result<void> read_training(std::uint64_t training_end, std::uint64_t number) {
        constexpr std::uint64_t initialization = 1, algorithm = 2;
        return from_.for_each_field(training_end, [&](const proto_field& field) {
            if (field.number != initialization && field.number != algorithm) {
                return from_.skip(field);
            }
            const char* const which = field.number == initialization ? ".initialization/" : ".algorithm/";
            const std::string info = "training_info";
            return from_.in_message(field, [&](std::uint64_t end) {
                return graphs_.read(end, {false, info + which, info + '#' + std::to_string(number) + which});
            });
        });
    }

    [[nodiscard]] result<void> read_function(std::uint64_t end, std::uint64_t number) {
        using of = onnx_function_field;
        const std::uint64_t begin = from_.position();
        std::string name_text;
        std::string domain_text;
        const result<void> read = from_.for_each_field(end, [&](const proto_field& field) {
            return field.number == of::name     ? take_onnx_text(from_, field, name_text)
                   : field.number == of::domain ? take_onnx_text(from_, field, domain_text)
                                                : from_.skip(field);
        });
        if (!read) {
            return read;
        }
        from_.seek(begin);
        std::string long_path = domain_text + '.' + name_text + '#' + std::to_string(number) + '/';
        return graphs_.read(end, {true, name_text + '/', std::move(long_path)});
    }

    [[nodiscard]] result<void> read_property(std::uint64_t end) {
        ZTENSOR_TRY_ASSIGN(const auto entry, read_onnx_entry(from_, end));
        cbor_encoder& value = index_.attribute(entry.first);
        if (is_utf8(entry.second)) {
            value.text(entry.second);
        } else {
            value.byte_string(as_bytes(entry.second));
        }
        return objects_.check_index_size();
    }

    const foreign_file& file_;
    header_stream stream_;
    proto_reader from_;
    foreign_index index_;
    onnx_objects objects_;
    onnx_graphs graphs_;
};

[[nodiscard]] ZTENSOR_COLD inline result<imported> import_onnx(const foreign_file& file) {
    return onnx_importer(file).import();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
