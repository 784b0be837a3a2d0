// tessera-sim: makes simulated machines with NVIDIA GPUs, and changes them while programs use them.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "sim/tessera_sim/commands.h"

namespace tessera::sim::command {
namespace {

constexpr const char* kExamples = R"(Examples:
  tessera-sim create --profile dgx-h100 --root /tmp/node      make a machine
  tessera-sim profile new --model l4 --count 2 > two-l4.yaml   describe another, then create --profile two-l4.yaml
  export TESSERA_SIM_ROOT=/tmp/node                            say the root once
  tessera-sim xid --gpu 3 --code 48                            an event, at once, in every program that waits for it
  tessera-sim mig enable --gpu 0
  tessera-sim mig create --gpu 0 --profile 3g.40gb@4
  tessera-sim fault add nvmlDeviceGetUUID --gpu 2 --code GPU_IS_LOST --count 3
  tessera-sim set --gpu 1 recoveryAction=1 remapped.pending=true

A GPU is named by its minor (3), its UUID or its PCI address (0000:4e:00.0).
Exit status: 0 done, 1 it did not work, 2 wrong usage.)";

// What the command line asked for.
struct Program {
  Path root;
  std::function<Output()> run;
};

CLI::App* AddCommand(CLI::App& parent, Program& program, const std::string& name, const std::string& what,
                     std::function<Output()> run) {
  CLI::App* command = parent.add_subcommand(name, what);
  command->callback([&program, run = std::move(run)] { program.run = run; });
  return command;
}

// A command on a driver root. Each has its own --root: CLI11 fills in the environment for all commands, given or not.
CLI::App* AddRooted(CLI::App& parent, Program& program, const std::string& name, const std::string& what,
                    std::function<Output()> run) {
  CLI::App* command = parent.add_subcommand(name, what);
  const auto root = std::make_shared<std::string>();
  command->callback([&program, root, run = std::move(run)] {
    program.root = *root;
    program.run = run;
  });
  command->add_option("--root", *root, "Driver root of the simulated machine")
      ->envname("TESSERA_SIM_ROOT")
      ->required()
      ->type_name("DIR");
  return command;
}

CLI::Option* AddGpu(CLI::App* command, std::string& gpu) {
  return command->add_option("--gpu", gpu, "Minor, UUID or PCI address")->type_name("G");
}

// A group of commands, of which one must be given.
CLI::App* AddGroup(CLI::App& app, const std::string& name, const std::string& what) {
  CLI::App* group = app.add_subcommand(name, what);
  group->require_subcommand(1);
  return group;
}

void AddMachines(CLI::App& app, Program& program) {
  struct Options {
    std::string profile, model;
    unsigned count = 1;
    bool force = false, quiet = false, models = false;
  };
  const auto o = std::make_shared<Options>();
  CLI::App* create = AddRooted(app, program, "create", "Make a driver root from a profile",
                               [&program, o] { return Create(program.root, o->profile, o->force, o->quiet); });
  create->add_option("--profile", o->profile, "Name of a profile, or a file")->required()->type_name("NAME|FILE");
  create->add_flag("--force", o->force, "Write into a directory that has other things in it");
  create->add_flag("--quiet", o->quiet, "Say only what had to be left out");
  AddCommand(app, program, "profiles", "List the profiles", Profiles);
  AddCommand(app, program, "models", "List the GPU models", Models);
  CLI::App* make = AddCommand(*AddGroup(app, "profile", "Work with profiles"), program, "new",
                              "Print a new profile as YAML", [o] { return NewProfileText(o->model, o->count); });
  make->add_option("--model", o->model, "See tessera-sim models")->required()->type_name("M");
  make->add_option("--count", o->count, "How many GPUs")->required()->type_name("N");
  AddRooted(app, program, "show", "Print the machine as YAML", [&program, o] {
    return Show(program.root, o->models);
  })->add_flag("--models", o->models, "With the facts of its GPU models");
}

void AddErrors(CLI::App& app, Program& program) {
  struct Options {
    XidOptions xid;
    std::string gpu;
    std::uint64_t corrected = 0, uncorrected = 0;
    unsigned celsius = 0;
  };
  const auto o = std::make_shared<Options>();
  CLI::App* xid = AddRooted(app, program, "xid", "Report an Xid", [&program, o] { return Xid(program.root, o->xid); });
  AddGpu(xid, o->xid.gpu)->required();
  xid->add_option("--code", o->xid.code, "The Xid, such as 48")->required()->type_name("N");
  xid->add_option("--gi", o->xid.gpu_instance, "GPU instance it happened in")->type_name("N");
  xid->add_option("--ci", o->xid.compute_instance, "Compute instance it happened in")->type_name("N");
  CLI::App* ecc = AddRooted(app, program, "ecc", "Count memory errors, and report them",
                            [&program, o] { return Ecc(program.root, o->gpu, o->corrected, o->uncorrected); });
  AddGpu(ecc, o->gpu)->required();
  ecc->add_option("--corrected", o->corrected, "How many more")->type_name("N");
  ecc->add_option("--uncorrected", o->uncorrected, "How many more")->type_name("N");
  CLI::App* heat = AddRooted(app, program, "temperature", "Set the temperature",
                             [&program, o] { return Temperature(program.root, o->gpu, o->celsius); });
  AddGpu(heat, o->gpu)->required();
  heat->add_option("celsius", o->celsius, "Degrees")->required()->type_name("C");
}

void AddMemorySignals(CLI::App& app, Program& program) {
  struct Options {
    std::string gpu;
    RemapOptions remap;
    RetireOptions retire;
  };
  const auto o = std::make_shared<Options>();
  CLI::App* remap = AddRooted(app, program, "remap", "Remap rows of memory, and report it",
                              [&program, o] { return Remap(program.root, o->gpu, o->remap); });
  AddGpu(remap, o->gpu)->required();
  remap->add_option("--corrected", o->remap.corrected, "How many more, for corrected errors")->type_name("N");
  remap->add_option("--uncorrected", o->remap.uncorrected, "How many more, for uncorrected errors")->type_name("N");
  remap->add_flag("--pending", o->remap.pending, "One waits for a reset");
  remap->add_flag("--failed", o->remap.failed, "One could not be remapped");
  CLI::App* retire = AddRooted(app, program, "retire", "Retire pages of memory (boards before Ampere)",
                               [&program, o] { return Retire(program.root, o->gpu, o->retire); });
  AddGpu(retire, o->gpu)->required();
  retire->add_option("--single-bit", o->retire.single_bit, "How many more, for many single-bit errors")->type_name("N");
  retire->add_option("--double-bit", o->retire.double_bit, "How many more, for a double-bit error")->type_name("N");
  retire->add_flag("--pending", o->retire.pending, "One waits for a reset");
}

void AddSignals(CLI::App& app, Program& program) {
  struct Options {
    std::string gpu, word;
    unsigned link = 0, percent = 0;
    LinkErrorOptions errors;
    std::optional<unsigned> generation, width;
    FabricOptions fabric;
    double seconds = 0;
  };
  const auto o = std::make_shared<Options>();
  const auto add = [&](const std::string& name, const std::string& what, std::function<Output()> run) {
    CLI::App* command = AddRooted(app, program, name, what, std::move(run));
    AddGpu(command, o->gpu)->required();
    return command;
  };
  CLI::App* errors = add("nvlink-errors", "Count errors of an NVLink",
                         [&program, o] { return LinkErrors(program.root, o->gpu, o->link, o->errors); });
  errors->add_option("--link", o->link, "Its number")->required()->type_name("N");
  errors->add_option("--replay", o->errors.replay, "How many more")->type_name("N");
  errors->add_option("--recovery", o->errors.recovery, "How many more")->type_name("N");
  errors->add_option("--crc", o->errors.crc, "How many more")->type_name("N");
  add("slowdown", "Slow the clocks down, or not", [&program, o] { return Slowdown(program.root, o->gpu, o->word); })
      ->add_option("why", o->word, "none, thermal, software-thermal, power-brake or power-cap")
      ->required();
  add("load", "Say how busy a GPU is", [&program, o] { return Load(program.root, o->gpu, o->percent); })
      ->add_option("percent", o->percent, "0 to 100")
      ->required()
      ->check(CLI::Range(0, 100));
  CLI::App* pcie = add("pcie", "Make the PCIe link slower or narrower",
                       [&program, o] { return Pcie(program.root, o->gpu, o->generation, o->width); });
  pcie->add_option("--generation", o->generation, "0: the best it can")->type_name("N");
  pcie->add_option("--width", o->width, "0: the best it can")->type_name("N");
  CLI::App* fabric = add("fabric", "Set what the GPU knows of its fabric",
                         [&program, o] { return SetFabric(program.root, o->gpu, o->fabric); });
  fabric->add_option("--state", o->fabric.state, "1 not started, 2 in progress, 3 completed")->type_name("N");
  fabric->add_option("--status", o->fabric.status, "NVML's code, in state 3")->type_name("N");
  fabric->add_option("--health-mask", o->fabric.health_mask, "NVML's bits; 0x1AA is all clear")->type_name("N");
  add("advise", "Change the recovery action that the driver advises, and report it",
      [&program, o] { return Advise(program.root, o->gpu, o->word); })
      ->add_option("action", o->word, "none, reset, reboot, drain-p2p or drain-and-reset")
      ->required();
  add("hang", "Let every call about a GPU take long", [&program, o] { return Hang(program.root, o->gpu, o->seconds); })
      ->add_option("seconds", o->seconds, "How long")
      ->required()
      ->check(CLI::Range(0.0, 86400.0));
}

using OnGpu = Output (*)(const Path&, const std::string&);

void AddPresence(CLI::App& app, Program& program) {
  const auto gpu = std::make_shared<std::string>();
  const auto add = [&](const std::string& name, const std::string& what, OnGpu function) {
    AddGpu(AddRooted(app, program, name, what, [&program, gpu, function] { return function(program.root, *gpu); }),
           *gpu)
        ->required();
  };
  add("lose", "Let a GPU fall off the bus: it answers nothing", Lose);
  add("find", "Undo lose", Find);
  add("unplug", "Take a GPU out of the machine", Unplug);
  add("plug", "Put it back, working", Plug);
  add("reset", "Reset a GPU: what is pending takes effect, what a reset cures is cured", Reset);
}

void AddDriver(CLI::App& app, Program& program) {
  const auto version = std::make_shared<std::string>();
  CLI::App* group = AddGroup(app, "driver", "Unload and reload the driver");
  AddRooted(*group, program, "unload", "Unload the kernel module", [&program] { return UnloadDriver(program.root); });
  AddRooted(*group, program, "reload", "Load it, forgetting what a fresh driver forgets",
            [&program, version] { return ReloadDriver(program.root, *version); })
      ->add_option("--version", *version, "Version of the kernel module; another than the library's is a mismatch")
      ->type_name("V");
}

void AddMig(CLI::App& app, Program& program) {
  struct Options {
    std::string gpu, instance;
    std::optional<unsigned> start, gpu_instance;
    bool pending = false, all = false;
  };
  const auto o = std::make_shared<Options>();
  CLI::App* group = AddGroup(app, "mig", "Change MIG mode and instances");
  CLI::App* enable = AddRooted(*group, program, "enable", "Switch MIG on",
                               [&program, o] { return EnableMig(program.root, o->gpu, o->pending); });
  CLI::App* disable = AddRooted(*group, program, "disable", "Switch MIG off",
                                [&program, o] { return DisableMig(program.root, o->gpu, o->pending); });
  for (CLI::App* mode : {enable, disable}) {
    AddGpu(mode, o->gpu)->required();
    mode->add_flag("--pending", o->pending, "Only ask for it: as on A100 before the GPU is reset");
  }
  CLI::App* create = AddRooted(*group, program, "create", "Make a GPU instance and its compute instances",
                               [&program, o] { return CreateMig(program.root, o->gpu, o->instance, o->start); });
  AddGpu(create, o->gpu)->required();
  create->add_option("--profile", o->instance, "2g.20gb, its id, 2g.20gb@4, 3g.40gb/2c+1c, 3g.40gb/none")
      ->required()
      ->type_name("P");
  create->add_option("--start", o->start, "First memory slice")->type_name("N");
  CLI::App* destroy = AddRooted(*group, program, "destroy", "Remove a GPU instance and what is in it",
                                [&program, o] { return DestroyMig(program.root, o->gpu, o->gpu_instance); });
  AddGpu(destroy, o->gpu)->required();
  CLI::Option_group* which = destroy->add_option_group("which");
  which->add_option("--gi", o->gpu_instance, "Id of the GPU instance")->type_name("N");
  which->add_flag("--all", o->all, "All of the GPU");
  which->require_option(1);
  AddGpu(AddRooted(*group, program, "list", "List instances", [&program, o] { return ListMig(program.root, o->gpu); }),
         o->gpu);
}

void AddFaults(CLI::App& app, Program& program) {
  const auto o = std::make_shared<FaultOptions>();
  CLI::App* group = AddGroup(app, "fault", "Make functions misbehave");
  CLI::App* add =
      AddRooted(*group, program, "add", "Add a fault", [&program, o] { return AddFault(program.root, *o); });
  add->add_option("function", o->function, "Such as nvmlDeviceGetUUID, or * for all")
      ->required()
      ->type_name("FUNCTION");
  AddGpu(add, o->gpu);
  add->add_option("--code", o->code, "Return this: 15, or GPU_IS_LOST")->type_name("N|NAME");
  add->add_option("--count", o->count, "For so many calls; without it until cleared")
      ->check(CLI::PositiveNumber)
      ->type_name("K");
  add->add_option("--hang", o->hang_seconds, "Wait so long first")
      ->check(CLI::Range(0.0, 86400.0))
      ->type_name("SECONDS");
  add->add_flag("--crash", o->crash, "Kill the calling process");
  add->add_flag("--garbage", o->garbage, "Answer success and nonsense");
  AddRooted(*group, program, "list", "List the faults", [&program] { return ListFaults(program.root); });
  AddRooted(*group, program, "clear", "Remove faults", [&program, o] { return ClearFaults(program.root, o->function); })
      ->add_option("function", o->function, "Only of this function")
      ->type_name("FUNCTION");
}

void AddRest(CLI::App& app, Program& program) {
  struct Options {
    std::string gpu, link, state;
    std::vector<std::string> assignments;
  };
  const auto o = std::make_shared<Options>();
  CLI::App* nvlink = AddRooted(app, program, "nvlink", "Take an NVLink down or up",
                               [&program, o] { return SetNvLink(program.root, o->gpu, o->link, o->state == "up"); });
  AddGpu(nvlink, o->gpu)->required();
  nvlink->add_option("--link", o->link, "Its number, or all")->required()->type_name("N|all");
  nvlink->add_option("state", o->state, "up or down")->required()->check(CLI::IsMember({"up", "down"}));
  CLI::App* set = AddRooted(app, program, "set", "Set any field of a GPU, as tessera-sim show names them",
                            [&program, o] { return Set(program.root, o->gpu, o->assignments); });
  AddGpu(set, o->gpu)->required();
  set->add_option("assignments", o->assignments, "powerMilliwatts=90000 links[3].crcFlitErrors=7 fabric.state=2")
      ->required()
      ->type_name("KEY=VALUE");
}

int Run(int argc, char** argv) {
  Program program;
  CLI::App app("Makes simulated machines with NVIDIA GPUs, and changes them while programs use them.", "tessera-sim");
  app.require_subcommand(1);
  for (const auto add :
       {AddMachines, AddErrors, AddMemorySignals, AddSignals, AddPresence, AddDriver, AddMig, AddFaults, AddRest})
    add(app, program);
  app.footer(kExamples);  // Last: commands added later would inherit it.
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Output output = program.run();
  if (!output) {
    std::fprintf(stderr, "tessera-sim: %s\n", output.error().message().c_str());
    if (!output.error().advice().empty()) std::fprintf(stderr, "  %s\n", output.error().advice().c_str());
    return 1;
  }
  std::fputs(output->c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace tessera::sim::command

int main(int argc, char** argv) { return tessera::sim::command::Run(argc, argv); }
