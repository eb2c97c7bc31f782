"""A LightningModule with ModelCheckpoint, resumed from the last checkpoint, if any."""

import sys

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from slow_data import WORDS, Sequences, note


class Words(L.LightningModule):
    def __init__(self, curve):
        super().__init__()
        self.curve = curve
        self.layers = torch.nn.Sequential(torch.nn.Embedding(WORDS, 16),
                                          torch.nn.Linear(16, WORDS))

    def training_step(self, batch, index):
        logits = self.layers(batch["input_ids"])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())
        self.log("loss", loss, prog_bar=True)
        return loss

    def on_train_batch_end(self, outputs, batch, index):
        if self.trainer.is_global_zero:
            note(self.curve, self.trainer.global_step, outputs["loss"])

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def main(out):
    L.seed_everything(7)
    trainer = L.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", max_epochs=4, logger=False,
        default_root_dir=out, log_every_n_steps=1,
        callbacks=[ModelCheckpoint(out, save_last=True, every_n_epochs=1)])
    # Batches of 2 on 2 ranks: five steps an epoch.
    loader = torch.utils.data.DataLoader(Sequences(20), batch_size=2, shuffle=True)
    trainer.fit(Words(out + "/curve"), loader, ckpt_path="last")
    print("environment", type(trainer.strategy.cluster_environment).__name__)


if __name__ == "__main__":
    main(sys.argv[1])
