#pragma once
// For every row of configs/faults.toml what such a failure really prints: shortened from public bug
// reports, and its last lines alone.

#include <csignal>
#include <string>
#include <vector>

#include "supervisor/core/worker_events.h"

namespace robustrun::cli::testing {

struct FaultExample {
  const char* name;  // of the row
  std::vector<std::string> lines;  // of stderr
  const char* message = "";  // of the error file
  int code = 1;  // or, with is_signal, the signal
  bool is_signal = false;
  bool oom = false;
};

// As Python prints an exception that nobody catches.
inline std::vector<std::string> raised(std::string exception, std::vector<std::string> more = {}) {
  std::vector<std::string> lines = {
      "Traceback (most recent call last):", "  File \"/job/train.py\", line 71, in <module>",
      "    main()", std::move(exception)};
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

inline std::vector<std::string> xid(const char* rest) {
  return {std::string("[32112.4871] NVRM: Xid (PCI:0000:3b:00): ") + rest};
}

inline supervisor::WorkerExited worker_of(const FaultExample& example) {
  supervisor::WorkerExited exited;
  exited.rank.value = 3;
  exited.code = example.code;
  if (example.is_signal) exited.kind = base::ExitStatus::Kind::kSignaled;
  if (example.oom) exited.oom = supervisor::Oom::kCgroup;
  exited.error_message = example.message;
  exited.stderr_tail = example.lines;
  return exited;
}

inline std::vector<FaultExample> fault_examples() {
  const std::string nccl =
      "torch.distributed.DistBackendError: NCCL error in: "
      "/pytorch/torch/csrc/distributed/c10d/NCCLUtils.hpp:268, ";
  return {
      {"uncorrectable ECC error",
       raised("RuntimeError: CUDA error: uncorrectable ECC error encountered",
              {"CUDA kernel errors might be asynchronously reported at some other API call, so the "
               "stacktrace below might be incorrect.",
               "For debugging consider passing CUDA_LAUNCH_BLOCKING=1."})},
      {"NVLink error",
       {},
       "torch.AcceleratorError: CUDA error: uncorrectable NVLink error detected during the "
       "execution"},
      {"hardware stack error", raised("RuntimeError: CUDA error: hardware stack error")},
      {"GPU cannot be used",
       raised("RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable")},
      {"rank beyond the GPUs of its node",
       raised("RuntimeError: CUDA error: invalid device ordinal")},
      {"driver and CUDA do not fit",
       raised("RuntimeError: The NVIDIA driver on your system is too old (found version 11040).")},
      {"out of GPU memory",
       raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
              "total capacity of 79.15 GiB of which 1.24 GiB is free.")},
      {"out of GPU memory in NCCL or a library",
       {"n1:21:80 [0] include/alloc.h:219 NCCL WARN Cuda failure 'out of memory'"}},
      {"illegal memory access",
       raised("RuntimeError: CUDA error: an illegal memory access was encountered")},
      {"assertion in a kernel",
       {"/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1290: indexSelectLargeIndex: block: "
        "[166,0,0], thread: [94,0,0] Assertion `srcIndex < srcSelectDimSize` failed.",
        "Traceback (most recent call last):", "  File \"train.py\", line 3, in <module>",
        "RuntimeError: CUDA error: device-side assert triggered"}},
      {"kernel failed",
       raised("RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling "
              "`cublasGemmEx( handle, opa, opb, m, n, k)`")},
      {"another CUDA error", raised("RuntimeError: CUDA error: invalid argument")},
      {"transport error of an InfiniBand or RoCE queue pair",
       {"kp-ddp-0:3468:3905 [4] NCCL WARN NET/IB : Got completion from peer 10.216.210.236<54862> "
        "with status=12 opcode=0 len=0 vendor err 129 (Recv)",
        "Traceback (most recent call last):", "  File \"train.py\", line 3, in <module>",
        nccl + "remote process exited or there was a network error, NCCL version 2.21.5",
        "ncclRemoteError: A call failed possibly due to a network error or a remote process "
        "exiting prematurely."}},
      {"port or device of the network is down",
       {"n7:201:411 [2] NCCL WARN NET/IB : mlx5_2:1 Got async event : port error"}},
      {"memory cannot be registered for RDMA",
       {"n7:201:411 [2] NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory"}},
      {"request of the libfabric network failed",
       {"NET/OFI Request 0x7f14cc5b60c0 completed with error. RC: 113. Error: 2 (UNDELIVERABLE). "
        "Completed length: 0"}},
      {"MASTER_PORT was already in use",
       raised("torch.distributed.DistNetworkError: The server socket has failed to listen on any "
              "local network address. port: 29500, useIpv6: true, code: -98, name: EADDRINUSE, "
              "message: address already in use")},
      {"a collective timed out",
       {"[rank0]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=466119168, "
        "NumelOut=466119168, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.",
        "terminate called after throwing an instance of 'c10::DistBackendError'"},
       "",
       SIGABRT,
       true},
      {"lost its peer",
       raised(nccl + "remote process exited or there was a network error, NCCL version 2.21.5",
              {"ncclRemoteError: A call failed possibly due to a network error or a remote process "
               "exiting prematurely.",
               "Last error:",
               "socketProgressOpt: Call to recv from 172.1.1.2<33759> failed : Connection reset by "
               "peer"})},
      {"the store of the rendezvous is gone or late",
       raised("torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. "
              "1/2 clients joined.")},
      {"NCCL failed in a system call",
       raised(nccl + "unhandled system error (run with NCCL_DEBUG=INFO for details)",
              {"ncclSystemError: System call (e.g. socket, malloc) or external library call failed "
               "or device error."})},
      {"NCCL was used wrongly",
       raised(
           nccl + "invalid usage, NCCL version 2.17.1",
           {"ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
            "Last error:", "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 6000"})},
      {"internal error of NCCL",
       raised(nccl + "internal error - please report this issue to the NCCL developers",
              {"ncclInternalError: Internal check failed."})},
      {"collectives of different kinds or sizes met",
       {"terminate called after throwing an instance of 'gloo::EnforceNotMet'",
        "  what():  [enforce fail at ../third_party/gloo/gloo/transport/tcp/pair.cc:446] "
        "op.preamble.length <= op.nbytes. 4000 vs 400"},
       "",
       SIGABRT,
       true},
      {"killed for want of memory", {"step 12", "step 13"}, "", SIGKILL, true, true},
      {"no memory could be had",
       raised("RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: "
              "can't allocate memory: you tried to allocate 34359738368 bytes. Error code 12 "
              "(Cannot allocate memory)")},
      {"native code got no memory",
       {"terminate called after throwing an instance of 'std::bad_alloc'",
        "  what():  std::bad_alloc"},
       "",
       SIGABRT,
       true},
      {"a data loader's process was killed",
       raised("RuntimeError: DataLoader worker (pid 13) is killed by signal: Killed. ")},
      {"shared memory is full",
       {"ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
        "shared memory (shm).",
        "Traceback (most recent call last):", "  File \"train.py\", line 3, in <module>",
        "RuntimeError: DataLoader worker (pid 56811) is killed by signal: Bus error. It is "
        "possible "
        "that dataloader's workers are out of shared memory."}},
      {"no more threads or processes", raised("RuntimeError: can't start new thread")},
      {"no threads for native code",
       {"libgomp: Thread creation failed: Resource temporarily unavailable"}},
      {"no more open files",
       raised("OSError: [Errno 24] Too many open files: '/data/shard-00012.tar'")},
      {"no space left", raised("OSError: [Errno 28] No space left on device: '/ckpt/step_400.pt'")},
      {"no space left, says a program",
       {"tar: shard-00012.npy: Cannot write: No space left on device"}},
      {"a mounted file system is gone",
       raised("OSError: [Errno 116] Stale file handle: '/mnt/data/x'")},
      {"a file system's server does not answer",
       {"[1801.2] nfs: server 10.0.0.9 not responding, timed out"}},
      {"file system is read-only",
       raised("OSError: [Errno 30] Read-only file system: '/scratch/optimizer.pt'")},
      {"reading or writing failed",
       raised("OSError: [Errno 5] Input/output error: '/opt/data/private/k400/97nosiYXJm8'")},
      {"disk reports errors",
       {"[ 4700.639133] I/O error, dev nvme0n1, sector 131209936 op 0x0:(READ) flags 0x80700"}},
      {"checkpoint cannot be read",
       raised(
           "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central "
           "directory")},
      {"checkpoint and model differ",
       raised("RuntimeError: Error(s) in loading state_dict for GPT:",
              {"\tsize mismatch for wte.weight: copying a param with shape torch.Size([50257])"})},
      {"damaged sample", raised("zipfile.BadZipFile: Bad CRC-32 for file 't5_out.npy'")},
      {"file or folder is missing",
       raised("FileNotFoundError: [Errno 2] No such file or directory: '/mnt/data/train.bin'")},
      {"loss or gradient is not a number",
       raised("AssertionError: Rank 3: found NaN in local grad norm in backwards pass. Device: 3, "
              "node: pc133")},
      {"loss or gradient is not a number, says the script", {"Loss is nan, stopping training"}},
      {"HDFS does not answer",
       {"org.apache.hadoop.ipc.RemoteException(org.apache.hadoop.ipc.StandbyException): Operation "
        "category READ is not supported in state standby"}},
      {"client of HDFS failed", raised("hdfs.util.HdfsError: File /data/x is closed")},
      {"object store refused or was late",
       raised("botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the "
              "GetObject operation (reached max retries: 4): Please reduce your request rate.")},
      {"model hub or tracker does not answer",
       raised("huggingface_hub.utils._errors.HfHubHTTPError: 503 Server Error: Service Temporarily "
              "Unavailable for url: https://huggingface.co/timm/resolve/main/model.safetensors")},
      {"name cannot be looked up",
       raised("socket.gaierror: [Errno -3] Temporary failure in name resolution")},
      {"connection to a service failed",
       raised("ConnectionRefusedError: [Errno 111] Connection refused")},
      {"container could not be started",
       {"docker: Error response from daemon: failed to create shim task: OCI runtime create "
        "failed"},
       "",
       125},
      {"library is missing",
       raised("ImportError: libcudart.so.12: cannot open shared object file: No such file or "
              "directory")},
      {"import failed",
       raised("ImportError: cannot import name 'Trainer' from 'model' (/job/model.py)")},
      {"module is missing", raised("ModuleNotFoundError: No module named 'flash_attn'")},
      {"operating system failed", {"[ 88.1] Kernel panic - not syncing: Fatal exception"}},
      {"mistake in the program",
       raised("TypeError: forward() got an unexpected keyword argument 'mask'")},
      {"the program does not accept its data or settings", raised("KeyError: 'learning_rate'")},
      {"tensors do not fit together",
       raised("RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 256x10)")},
      {"wrong options of the script",
       {"usage: train.py [-h] [--lr LR]", "train.py: error: unrecognized arguments: --lrr 3"},
       "",
       2},
      {"fallen off the bus (Xid 79)",
       xid("79, pid=1101234, name=python, GPU has fallen off the bus.")},
      {"double-bit ECC error (Xid 48, 171, 172)",
       xid("48, pid=12, DBE (double bit error) detected")},
      {"memory error that was not contained (Xid 95)", xid("95, pid=12, Uncontained: LTC TAG")},
      {"ECC error without recovery (Xid 140)", xid("140, pid=12, An uncorrectable ECC error")},
      {"row remapping failed (Xid 64)", xid("64, pid=12, Row Remapper: Failed to record")},
      {"contained memory error (Xid 94)", xid("94, pid=12, Contained: SM (0x1)")},
      {"memory was repaired or wears out (Xid 63, 92, 156, 157, 160, 161)",
       xid("63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate.")},
      {"NVLink error (Xid 74)", xid("74, pid='<unknown>', name=<unknown>, NVLink: fatal error")},
      {"NVLink 5 error (Xid 144 to 150, 155)", xid("149, NETIR_LINK_EVT Fatal XC0 i0 Link 08")},
      {"link training failed (Xid 136)", xid("136, ALI training failed")},
      {"the GPU's own processor does not answer (Xid 119, 120)",
       xid("119, pid=4, name=python, Timeout after 45s of waiting for RPC response from GPU0 "
           "GSP!")},
      {"GPU stopped working (Xid 46, 62, 109, 110, 143, 158, 167, 169)",
       xid("109, pid=9, name=python, Ch 00000008, errorString CTX SWITCH TIMEOUT")},
      {"power cable of the GPU (Xid 54)", xid("54, Power cable not connected")},
      {"key rotation failed (Xid 151)", xid("151, pid=9, Key rotation error")},
      {"the driver names what the GPU needs (Xid 154)",
       xid("154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")},
      {"GPU program failed (Xid 13, 31, 69, 137)",
       xid("31, pid=9, name=python, Ch 00000008, MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 "
           "faulted")},
      {"commands to the GPU were damaged (Xid 11, 25, 32, 80)", xid("32, pid=9, PBDMA Error")},
      {"an engine of the GPU failed (Xid 8, 39 to 41, 60, 68, 70 to 72, 75 to 77, 82 to 86, 88, "
       "89, "
       "96 to 105, 126 to 135, 139)",
       xid("39, pid=9, CE0 error")},
      {"follows from another error of the GPU (Xid 43, 45)", xid("45, pid=9, Ch 00000010")},
      {"the driver met something odd (Xid 14, 37, 38, 44, 66, 67, 93, 106, 107, 121, 141, 159)",
       xid("121, C2C Link corrected error")},
      {"setting of the GPU or driver (Xid 78, 142, 162 to 166, 168, 170)", xid("163, PSHC")},
      {"NVSwitch error (SXid)",
       {"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Fatal, Link 32 egress non-posted PRIV "
        "error"}},
  };
}

}  // namespace robustrun::cli::testing
