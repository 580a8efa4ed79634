// SPDX-License-Identifier: MIT
//
// Which files of a folder are its model, and what is told of those that are left out.
#include "import/foreign_files.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/import.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

using support::refusal;
using ztensor::errc;
using ztensor::reader;

namespace {

/// A checkpoint as PyTorch wrote it before 1.6, of that pickle and without storages.
std::string checkpoint(const std::string& pickle) {
    const std::string head("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.", 25);
    return head + "\x80\x02" + pickle + ".\x80\x02].";
}
const std::string object_of_program = checkpoint("ctransformers\nArgs\n)\x81"); // as in training_args.bin
const std::string only_numbers = checkpoint("}Vn\nI1\ns");

std::string one_tensor(const std::string& name) {
    return support::safetensors_file({{name, {1, 2}}});
}

std::string index_of(const std::string& map) {
    return R"({"weight_map": {)" + map + "}}";
}

std::string names_in(const reader& set) {
    std::string names;
    for (const ztensor::object_view& object : set) {
        names += std::string(object.name()) + ' ';
    }
    return names;
}

/// "NAME in WHERE; " of each, in the order of the list.
std::string skipped_in(const reader& set) {
    std::string all;
    for (const ztensor::skipped_item& each : set.skipped()) {
        all += each.name + (each.where.empty() ? "" : " in " + each.where) + "; ";
        CHECK_FALSE(each.why.empty());
    }
    return all;
}

} // namespace

TEST_CASE("a file of weights that the index of a folder does not name is listed") {
    const support::temp_dir folder;
    support::write_file(folder / "model.safetensors", one_tensor("a"));
    support::write_file(folder / "model.safetensors.index.json", index_of(R"("a": "model.safetensors")"));
    support::write_file(folder / "README.md", "no tensors");
    const reader whole = ztensor::open_any(folder.path()).value();
    CHECK(whole.skipped().empty());
    support::write_file(folder / "projector.safetensors", one_tensor("p"));
    support::write_file(folder / "adapter", one_tensor("q"));
    support::write_file(folder / "optimizer.pt", "damaged");
    support::write_file(folder / "tf_model.h5", "\x89HDF\r\n\x1a\n");
    const reader set = ztensor::open_any(folder.path()).value();
    CHECK(names_in(set) == "a ");
    CHECK(skipped_in(set) == "adapter; optimizer.pt; projector.safetensors; tf_model.h5; ");
    CHECK(set.skipped().front().why == "the index of the folder does not name this file");
    const reader chosen = ztensor::open_any(folder / "model.safetensors.index.json").value();
    CHECK(chosen.skipped().empty()); // the caller's choice
}

TEST_CASE("the index decides which objects of its files are of the model") {
    const support::temp_dir folder;
    support::write_file(folder / "new.safetensors", support::safetensors_file({{"x", {1}}}));
    support::write_file(folder / "old.safetensors", support::safetensors_file({{"a", {2}}, {"x", {3, 4}}, {"y", {5}}}));
    support::write_file(folder / "i.json", index_of(R"("a": "old.safetensors", "x": "new.safetensors")"));
    const reader set = ztensor::open_any(folder / "i.json").value();
    CHECK(names_in(set) == "x a ");
    CHECK(set.read<float>("x").value() == std::vector<float>{1});
    CHECK(set.read<float>("a").value() == std::vector<float>{2});
    CHECK_FALSE(set.contains("y"));
    CHECK(set.file_of("x").value() == 0);
    CHECK(skipped_in(set) == "x in old.safetensors; y in old.safetensors; ");
    CHECK(set.skipped()[0].why == "the index says that it is in \"new.safetensors\"");
    CHECK(set.skipped()[1].why == "the index does not name it");
    const reader& old = set.files()[1]; // of which the rest is no part of the set
    CHECK(names_in(old) == "a ");
    CHECK_FALSE(old.contains("x"));
    CHECK(old.contains("a"));
    const auto verified = set.verify();
    REQUIRE(verified);
    CHECK(verified->absent + verified->verified == 2);
}

TEST_CASE("parts of what is left are verified, whatever lies between them") {
    for (const auto version : {ztensor::format_version::v1_2, ztensor::format_version::v2}) {
        const support::temp_dir folder;
        auto out = ztensor::writer::create(folder / "s.zt", ztensor::write_options().version(version)).value();
        for (const char* const name : {"a", "b", "c"}) {
            out.add(name, {1}, std::vector<float>{1}, ztensor::store().digest(ztensor::digest::sha256)).value();
        }
        out.finish().value();
        support::write_file(folder / "i.json", index_of(R"("a": "s.zt", "c": "s.zt")"));
        const reader set = ztensor::open_any(folder / "i.json").value();
        CHECK(names_in(set) == "a c ");
        CHECK(set.files()[0].read<float>("c").value() == std::vector<float>{1});
        const auto verified = set.verify();
        REQUIRE(support::outcome(verified) == "ok");
        CHECK(verified->verified + verified->absent == 2);
        CHECK(verified->mismatches.empty());
    }
}

TEST_CASE("an index that names what is not there is stale") {
    const support::temp_dir folder;
    support::write_file(folder / "1.safetensors", support::safetensors_file({{"a", {1}}, {"b", {1}}}));
    support::write_file(folder / "2.safetensors", one_tensor("c"));
    const auto said = [&](const char* map, const char* words) {
        support::write_file(folder / "i.json", index_of(map));
        const auto set = ztensor::open_any(folder / "i.json");
        CAPTURE(map, support::outcome(set));
        CHECK((!set && set.error().sentence().find(words) != std::string::npos));
        return refusal(set);
    };
    CHECK(said(R"("a": "1.safetensors", "b": "2.safetensors", "c": "2.safetensors")",
               "the object \"b\" is in \"2.safetensors\", but it is in \"1.safetensors\"") == errc::stale_index);
    CHECK(said(R"("a": "1.safetensors", "d": "2.safetensors")",
               "the object \"d\" is in \"2.safetensors\", but it is nowhere") == errc::stale_index);
}

TEST_CASE("what is left out of a set takes no more than so much memory, and the rest of it is counted") {
    const support::temp_dir folder;
    std::vector<std::pair<std::string, std::vector<float>>> many;
    for (int i = 0; i < 30'000; ++i) {
        many.push_back({"tensor." + std::to_string(i), {}});
    }
    support::write_file(folder / "1.safetensors", support::safetensors_file(many));
    support::write_file(folder / "i.json", index_of(R"("tensor.0": "1.safetensors")"));
    const reader set = ztensor::open_any(folder / "i.json").value();
    CHECK(set.size() == 1);
    const auto& skipped = set.skipped();
    std::uint64_t listed_bytes = 0;
    for (const ztensor::skipped_item& each : skipped) {
        listed_bytes += each.name.size() + each.where.size() + each.why.size() + 256;
    }
    const std::uint64_t header_bytes = ztensor::open_any(folder / "1.safetensors").value().manifest_bytes();
    constexpr std::uint64_t most_of_count = 1024; // of the item that counts the rest
    CHECK(listed_bytes < (std::uint64_t{1} << 20) + header_bytes + most_of_count);
    if (skipped.size() < 29'999) {
        CHECK(skipped.back().why ==
              std::to_string(30'000 - skipped.size()) + " more files or objects are left out, too many to be listed");
    }
}

TEST_CASE("a file without tensors does not make its folder unreadable, and is listed") {
    const support::temp_dir folder;
    support::write_file(folder / "model.safetensors", one_tensor("a"));
    support::write_file(folder / "training_args.bin", object_of_program);
    support::write_file(folder / "scheduler.pt", only_numbers);
    support::write_file(folder / "vocab.bin", "words of a tokenizer");
    support::write_file(folder / "state.pth", "\x1f\x8b an archive");
    const reader set = ztensor::open_any(folder.path()).value();
    CHECK(names_in(set) == "a ");
    CHECK(set.files().size() == 1);
    CHECK(skipped_in(set) == "scheduler.pt; state.pth; training_args.bin; vocab.bin; ");
}

TEST_CASE("a folder without any tensor says what its files are") {
    const support::temp_dir folder;
    support::write_file(folder / "training_args.bin", object_of_program);
    const auto set = ztensor::open_any(folder.path());
    REQUIRE(refusal(set) == errc::pickle_refused);
    CHECK(set.error().sentence().find("transformers") != std::string::npos);
    support::write_file(folder / "training_args.bin", only_numbers);
    const reader numbers = ztensor::open_any(folder.path()).value();
    CHECK(numbers.files().size() == 1);
}

TEST_CASE("a file that is damaged, missing or a part of its model is no file without tensors") {
    struct {
        const char* name;
        std::string content;
        errc code;
    } const cases[] = {
        {"b.safetensors", "nothing of the kind", errc::manifest_out_of_bounds},
        {"b.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", errc::foreign_file},
        {"b.bin", "<!DOCTYPE html><html></html>", errc::foreign_file},
        {"b.bin", object_of_program.substr(0, 30), errc::truncated},
        {"b-00001-of-00001.bin", "words of a tokenizer", errc::bad_magic},
        {"b-00001-of-00001.bin", object_of_program, errc::pickle_refused},
    };
    for (const auto& each : cases) {
        CAPTURE(each.name, each.content);
        const support::temp_dir folder;
        support::write_file(folder / "a.safetensors", one_tensor("a"));
        support::write_file(folder / each.name, each.content);
        const auto set = ztensor::open_any(folder.path());
        REQUIRE_FALSE(set);
        CHECK(set.error().code() == each.code);
        CHECK(std::string(set.error().what()).find(each.name) != std::string::npos);
    }
}

TEST_CASE("files of tensors count whatever they are called, where none are called as such") {
    for (const char* const name : {"model.sft", "model.pth.tar", "model", "model.safetensors.old", "weights.v2"}) {
        CAPTURE(name);
        const support::temp_dir folder;
        support::write_file(folder / name, one_tensor("a"));
        support::write_file(folder / "config.json", "{}");
        support::write_file(folder / "empty", "");
        support::write_file(folder / ".hidden", one_tensor("h"));
        std::filesystem::create_directory(folder / "below");
        const reader set = ztensor::open_any(folder.path()).value();
        CHECK(names_in(set) == "a ");
        CHECK(set.skipped().empty());
    }
    const support::temp_dir folder;
    support::write_file(folder / "model.safetensors", one_tensor("a"));
    support::write_file(folder / "model.safetensors.bak", one_tensor("a"));
    support::write_file(folder / "other.h5", "\x89HDF\r\n\x1a\n");
    const reader set = ztensor::open_any(folder.path()).value();
    CHECK(names_in(set) == "a ");
    CHECK(skipped_in(set) == "other.h5; model.safetensors.bak; ");
}

TEST_CASE("a link that leads out of a folder is no file that is called otherwise") {
    const support::temp_dir root;
    std::filesystem::create_directory(root / "in");
    support::write_file(root / "model", one_tensor("a"));
    std::error_code refused;
    std::filesystem::create_symlink("../model", root / "in" / "model", refused);
    if (refused) {
        WARN("symbolic links can't be made here");
        return;
    }
    CHECK(refusal(ztensor::open_any(root / "in")) == errc::file_not_found);
    CHECK(names_in(ztensor::open_any(root / "in", ztensor::read_options().follow_links()).value()) == "a ");
}

TEST_CASE("a folder of another kind is named, and what to do with it") {
    struct {
        std::vector<const char*> files;
        std::string opened;
        errc code;
        std::vector<const char*> said;
    } const cases[] = {
        {{".metadata", "__0_0.distcp", "__1_0.distcp"},
         "",
         errc::foreign_file,
         {"torch.distributed.checkpoint", "\"__0_0.distcp\", \"__1_0.distcp\"", "dcp_to_torch"}},
        {{"saved_model.pb", "variables/variables.index"}, "", errc::foreign_file, {"SavedModel of TensorFlow"}},
        {{"blobs/1", "refs/main", "snapshots/abc/model.safetensors"},
         "",
         errc::foreign_file,
         {"Hugging Face Hub", "open one of these, \"snapshots/abc\""}},
        {{"blobs/1", "snapshots/abc/model.safetensors"}, "blobs", errc::foreign_file, {"\"snapshots/abc\""}},
        {{"models--a--b/snapshots/c/x.safetensors", "version.txt"},
         "",
         errc::foreign_file,
         {"cache of the Hugging Face Hub", "\"models--a--b\""}},
    };
    for (const auto& each : cases) {
        const support::temp_dir folder;
        for (const char* const file : each.files) {
            std::filesystem::create_directories((folder / file).parent_path());
            support::write_file(folder / file, one_tensor("a"));
        }
        CAPTURE(each.files.front());
        const auto set = ztensor::open_any(each.opened.empty() ? folder.path() : folder / each.opened);
        REQUIRE(refusal(set) == each.code);
        for (const char* const words : each.said) {
            CAPTURE(words, set.error().sentence());
#if defined(_WIN32)
            std::string sentence(set.error().sentence());
            std::replace(sentence.begin(), sentence.end(), '\\', '/');
#else
            const std::string sentence(set.error().sentence());
#endif
            CHECK(sentence.find(words) != std::string::npos);
        }
    }
    const support::temp_dir folder; // pieces beside a model
    support::write_file(folder / "model.safetensors", one_tensor("a"));
    support::write_file(folder / "__0_0.distcp", one_tensor("b"));
    CHECK(skipped_in(ztensor::open_any(folder.path()).value()) == "__0_0.distcp; ");
}
