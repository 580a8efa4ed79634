// SPDX-License-Identifier: MIT
//
// PyTorch checkpoints (tests/corpus/foreign/make_pt.py): what is viewed, gathered or shared, what becomes of numbers
// and texts, and that what is refused is named. Their values are compared in foreign_corpus_test.cpp.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/import.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace {

using support::outcome;
using support::refusal;
using ztensor::errc;

const std::filesystem::path pt_folder = "tests/corpus/foreign/pt";

ztensor::reader open_checkpoint(std::string_view name) {
    auto file = ztensor::open_any(pt_folder / name);
    REQUIRE(outcome(file) == "ok");
    return *std::move(file);
}

ztensor::component_view tensor_of(const ztensor::reader& file, std::string_view name) {
    return file.find(name).value().data().value();
}

} // namespace

TEST_CASE("tensors of a checkpoint that lie without gaps are viewed, the others gathered") {
    const ztensor::reader file = open_checkpoint("checkpoint.pt");
    const bool is_little = support::host_is_little_endian();
    for (const std::string name : {"weight", "tied", "row"}) {
        CAPTURE(name);
        const auto view = tensor_of(file, "model." + name).view<float>();
        CHECK(outcome(view) == (is_little ? "ok" : "needs_byteswap"));
        CHECK((!view || std::vector<float>(view->begin(), view->end()) ==
                            tensor_of(file, "model." + name).read<float>().value()));
    }
    for (const std::string name : {"columns", "transposed", "every_other", "expanded", "one_wide"}) {
        CAPTURE(name);
        CHECK(refusal(tensor_of(file, "model." + name).view<float>()) == errc::not_viewable);
    }
    CHECK(tensor_of(file, "model.transposed").read<float>().value().at(1) == 8);
    CHECK(tensor_of(file, "model.expanded").read<float>().value() == std::vector<float>{1.5, 2.5, 1.5, 2.5, 1.5, 2.5});
    CHECK(file.find("model.transposed").value().rows(1, 2).read<float>().value() ==
          std::vector<float>{1, 9, 17, 25, 33, 41});
}

TEST_CASE("tensors of one storage stay one range, and only a whole entry has the archive's checksum") {
    const ztensor::reader file = open_checkpoint("checkpoint.pt");
    const ztensor::component_view weight = tensor_of(file, "model.weight");
    CHECK(tensor_of(file, "model.tied").offset() == weight.offset());
    CHECK(tensor_of(file, "model.row").offset() == weight.offset() + 2 * 8 * 4);
    CHECK(weight.digest().text().substr(0, 6) == "crc32:");
    CHECK_FALSE(tensor_of(file, "model.row").digest().is_present());
    CHECK(weight.verify().value() == ztensor::digest_state::match);
    CHECK(file.verify().value().mismatches.empty());
    const ztensor::reader deflated = open_checkpoint("deflated.pt");
    CHECK(tensor_of(deflated, "model.tied").offset() == tensor_of(deflated, "model.weight").offset());
    CHECK(refusal(tensor_of(deflated, "model.weight").view<float>()) == errc::not_viewable);
}

TEST_CASE("a plan loads gathered and inflated tensors like any others") {
    for (const char* const name : {"checkpoint.pt", "protocol_5.pt", "deflated.pt"}) {
        CAPTURE(name);
        const ztensor::reader file = open_checkpoint(name);
        std::vector<float> transposed(48);
        std::vector<float> columns(18);
        std::vector<double> permuted(60);
        ztensor::load_plan plan(file);
        plan.add("model.transposed", transposed).add("model.columns", columns).add_as("model.permuted", permuted);
        REQUIRE(outcome(plan.run()) == "ok");
        CHECK(transposed.at(1) == 8);
        CHECK(columns.at(3) == 10);
        CHECK(permuted.at(1) == 5);
        CHECK(permuted == tensor_of(file, "model.permuted").read_as<double>().value());
    }
}

TEST_CASE("numbers, texts and bools of a checkpoint are attributes under names with dots") {
    const ztensor::reader file = open_checkpoint("checkpoint.pt");
    const ztensor::attributes_view attributes = file.attributes();
    CHECK(attributes.integer("epoch").value() == 3);
    CHECK(attributes.integer("negative").value() == -5);
    CHECK(attributes.integer("large").value() == std::int64_t{1} << 40);
    CHECK(attributes.byte_string("larger").value().size() == 9);
    CHECK(attributes.number("scale").value() == 0.5);
    CHECK(attributes.text("name").value() == "Grüße");
    CHECK(attributes.text("dtype").value() == "torch.float16");
    CHECK(attributes.integer("size.1").value() == 3);
    CHECK(attributes.contains("best"));
    CHECK(attributes.number("optimizer.param_groups.0.lr").value() == 1e-3);
    CHECK(attributes.number("optimizer.param_groups.0.betas.1").value() == 0.999);
    CHECK_FALSE(attributes.boolean("optimizer.param_groups.0.amsgrad").value());
    CHECK(attributes.integer("optimizer.state.1.step").value() == 7);
}

TEST_CASE("what a pickle must not ask for is named, and nothing is run") {
    const auto sentence = [](const char* name) {
        return ztensor::open_any(pt_folder / "reject" / name).error().sentence();
    };
    CHECK(sentence("system_2.pt").find("\"system\" of module \"posix\"") != std::string::npos);
    CHECK(sentence("eval_5.pt").find("\"eval\" of module \"builtins\"") != std::string::npos);
    CHECK(sentence("instance_alone.pt").find("\"system\" of module \"os\"") != std::string::npos);
    CHECK(sentence("name_torch_QInt8Storage.pt").find("\"QInt8Storage\" of module \"torch\"") != std::string::npos);
}

TEST_CASE("limits hold for pickles and for what is gathered") {
    CHECK(refusal(ztensor::open_any(pt_folder / "checkpoint.pt", ztensor::read_options().max_manifest_bytes(1000))) ==
          errc::limit_exceeded);
    const auto small = ztensor::read_options().max_decoded_bytes(100);
    const ztensor::reader file = ztensor::open_any(pt_folder / "checkpoint.pt", small).value();
    CHECK(refusal(tensor_of(file, "model.transposed").read<float>()) == errc::limit_exceeded);
    CHECK(refusal(tensor_of(file, "model.one_wide").read<float>()) == errc::limit_exceeded); // of 168 bytes of storage
}

TEST_CASE("a checkpoint lists what it holds beside tensors, and finds the tensors in it") {
    const ztensor::reader file = open_checkpoint("others.pt");
    const auto why_of = [&](std::string_view name) {
        for (const ztensor::skipped_item& each : file.skipped()) {
            if (each.name == name) {
                return each.why;
            }
        }
        return std::string("not listed");
    };
    CHECK(file.size() == 2);
    CHECK(tensor_of(file, "args.weight").read<float>().value().at(5) == 6);
    CHECK(why_of("args").find("\"Namespace\" of module \"argparse\", which is not run") != std::string::npos);
    CHECK(why_of("at").find("\"date\" of module \"datetime\"") != std::string::npos);
    CHECK(why_of("meta").find("device meta") != std::string::npos);
    CHECK(file.attributes().integer("count.x").value() == 2);
    CHECK(file.attributes().byte_string("blob").value().size() == 2);
}

TEST_CASE("sparse tensors of a checkpoint are sparse objects, or their parts where there is no format for them") {
    const ztensor::reader file = open_checkpoint("sparse.pt");
    const ztensor::object_view coo = file.find("coo").value();
    CHECK(coo.format().text() == "sparse_coo");
    CHECK(coo.component("coords").value().read<std::uint64_t>().value() ==
          std::vector<std::uint64_t>{0, 1, 2, 3, 0, 1, 2, 3});
    const ztensor::object_view csr = file.find("csr").value();
    CHECK(csr.format().text() == "sparse_csr");
    CHECK(csr.component("indptr").value().read<std::uint64_t>().value() == std::vector<std::uint64_t>{0, 1, 2, 3, 4});
    CHECK(csr.component("values").value().read<float>().value() == std::vector<float>(4, 1));
    CHECK(tensor_of(file, "csc.row_indices").read<std::int64_t>().value() == std::vector<std::int64_t>{0, 1, 2, 3});
    CHECK(file.find("bsr.values").value().attributes().text("layout").value() == "torch.sparse_bsr");
    CHECK(file.skipped().empty());
}

TEST_CASE("quantized tensors of a checkpoint are their integers, with what these count") {
    const ztensor::reader file = open_checkpoint("quantized.pt");
    const ztensor::object_view tensor = file.find("tensor").value();
    CHECK(tensor.attributes().number("scale").value() == 0.5);
    CHECK(tensor.attributes().integer("zero_point").value() == 3);
    CHECK(tensor_of(file, "tensor").read<std::uint8_t>().value() == std::vector<std::uint8_t>{3, 5, 7, 9, 11, 13});
    CHECK(file.find("channel").value().attributes().integer("axis").value() == 0);
    CHECK(tensor_of(file, "channel.scale").read<double>().value() == std::vector<double>{0.5, 0.25});
    CHECK(tensor_of(file, "channel").read<std::int8_t>().value() == std::vector<std::int8_t>{0, 2, 4, 13, 17, 21});
}

TEST_CASE("a module of TorchScript keeps nothing back: its state, and what its code computes with") {
    for (const char* const name : {"script.pt", "traced.pt", "frozen.pt"}) {
        CAPTURE(name);
        const ztensor::reader file = open_checkpoint(name);
        CHECK(file.skipped().empty());
    }
    const ztensor::reader frozen = open_checkpoint("frozen.pt");
    CHECK(frozen.size() == 2);
    CHECK(tensor_of(frozen, "CONSTANTS.0").verify().value() == ztensor::digest_state::match);
    const ztensor::reader traced = open_checkpoint("traced.pt");
    CHECK(tensor_of(traced, "CONSTANTS.0").read<float>().value() == std::vector<float>{2, 3});
}

TEST_CASE("a program of torch.export is its weights and constants, as every version lays them out") {
    for (const char* const name : {"exported.pt2", "exported_2_8.pt2", "exported_2_4.pt2"}) {
        CAPTURE(name);
        const ztensor::reader file = open_checkpoint(name);
        CHECK(file.size() == 7);
        CHECK(file.skipped().empty());
        const ztensor::component_view weight = tensor_of(file, "inner.weight");
        CHECK(tensor_of(file, "tied").offset() == weight.offset());
        CHECK(weight.digest().text().substr(0, 6) == "crc32:");
        CHECK(weight.verify().value() == ztensor::digest_state::match);
        CHECK(refusal(tensor_of(file, "turned").view<float>()) == errc::not_viewable);
        CHECK(tensor_of(file, "turned").read<float>().value() == std::vector<float>{0, 2, 4, 1, 3, 5});
        CHECK(tensor_of(file, "unsaved").read<std::int64_t>().value() == std::vector<std::int64_t>{3, 4});
    }
}

TEST_CASE("programs in one archive keep their names apart, and what is no tensor is listed") {
    const ztensor::reader file = open_checkpoint("programs.pt2");
    CHECK(tensor_of(file, "one.row").offset() == tensor_of(file, "one.w").offset() + 8);
    CHECK(tensor_of(file, "two.w").offset() == tensor_of(file, "one.w").offset());
    CHECK(tensor_of(file, "one.own").read<float>().value() == std::vector<float>{1, 2, 3, 4});
    CHECK(file.skipped().size() == 5);
    const auto sentence = [](const char* name) {
        return ztensor::open_any(pt_folder / "reject" / name).error().sentence();
    };
    CHECK(sentence("program_path_outside.pt").find("\"../../models/model.json\"") != std::string::npos);
    CHECK(sentence("program_inner_deflated.pt").find("take it out, and open it alone") != std::string::npos);
    CHECK(sentence("program_size_negative.pt").find("a negative number") != std::string::npos);
}

TEST_CASE("files from before archives that are cut off, or of other sizes, are refused") {
    const std::string whole = support::read_file(pt_folder / "legacy.pt");
    const support::temp_dir directory;
    const auto outcome_of = [&](const std::string& content) {
        support::write_file(directory / "x.pt", content);
        return outcome(ztensor::open_any(directory / "x.pt"));
    };
    CHECK(outcome_of(whole) == "ok");
    for (std::size_t size = 64; size < whole.size(); size += 7) {
        CAPTURE(size);
        CHECK(outcome_of(whole.substr(0, size)) == "truncated");
    }
    std::string other_version = whole;
    other_version.at(18) ^= 1;
    CHECK(outcome_of(other_version) == "unsupported_version");
    std::string other_size = whole;
    const std::size_t count = other_size.find(std::string("\x06\0\0\0\0\0\0\0", 8));
    REQUIRE(count != std::string::npos);
    other_size.at(count) = 5;
    CHECK(outcome_of(other_size) == "size_mismatch");
    const std::string tar = support::read_file(pt_folder / "tar.pt");
    CHECK(outcome_of(tar.substr(0, 512)) == "truncated");
    CHECK(outcome_of(tar.substr(0, 1024)) == "schema_missing");
}

TEST_CASE("what is skipped in very many places is counted, not listed") {
    const auto text = [](const std::string& content) {
        return "X" + support::little_endian(content.size(), 4) + content;
    };
    const std::size_t count = 20'000;
    std::string pickle = "\x80\x02](" + ("(" + text("storage") + "ctorch\nByteStorage\n" + text("0") + text("cpu")) +
                         std::string("K\0tQ", 4) + "cos\nsystem\n" + std::string("q\0", 2);
    for (std::size_t i = 1; i < count; ++i) {
        pickle += std::string("h\0", 2);
    }
    pickle += "e.";
    const std::string head("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.", 25);
    const support::temp_dir directory;
    support::write_file(directory / "x.pth",
                        head + pickle + "\x80\x02]" + text("0") + "a." + support::little_endian(0, 8));
    const auto file = ztensor::open_any(directory / "x.pth");
    REQUIRE(outcome(file) == "ok");
    CHECK(file->size() == 1);
    const std::size_t listed = file->skipped().size();
    REQUIRE(listed > 100);
    CHECK(listed < count / 2);
    CHECK(file->skipped()[listed - 1].why ==
          std::to_string(count - (listed - 1)) + " more values are skipped, too many to be listed");
}
