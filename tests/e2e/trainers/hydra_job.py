"""A hydra application that changes its working directory, as version_base 1.1 does."""

import os

import hydra
import torch
import torch.distributed as dist
from hydra.utils import get_original_cwd, to_absolute_path
from omegaconf import DictConfig
from slow_data import WORDS, Sequences, note


@hydra.main(config_path="hydra_conf", config_name="train", version_base="1.1")
def main(cfg: DictConfig):
    assert os.getcwd() != get_original_cwd()
    dist.init_process_group("gloo")
    out = to_absolute_path(cfg.out)
    os.makedirs(out, exist_ok=True)
    torch.manual_seed(cfg.seed)
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Embedding(WORDS, 16), torch.nn.Linear(16, WORDS)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    done = 0
    if os.path.exists(out + "/model.pt"):
        state = torch.load(out + "/model.pt")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        done = state["done"]
    data = Sequences(1000)
    while done < cfg.steps:
        item = data[done * dist.get_world_size() + dist.get_rank()]
        loss = torch.nn.functional.cross_entropy(model(item["input_ids"]), item["labels"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        done += 1
        if dist.get_rank() == 0:
            note(out + "/curve", done, loss.item())
            if done % cfg.every == 0:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                            "done": done}, out + "/new.pt")
                os.replace(out + "/new.pt", out + "/model.pt")
    print("worked in", os.path.relpath(os.getcwd(), get_original_cwd()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
