"""Lightning on two ranks with RobustCheckpointIO. Rank 1 of the first attempt kills itself after
the third epoch. The second one ends with the same training undisturbed, from the beginning."""

import hashlib
import os
import signal

import lightning
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from robustrun.integrations.lightning import RobustCheckpointIO

EPOCHS = 5


class Model(lightning.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(width, 1)

    def training_step(self, batch, index):
        loss = self.layer(batch[0]).square().mean()
        self.log("loss", loss, on_epoch=True, sync_dist=True)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
        return {"optimizer": optimizer,
                "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 2)}


class Killer(Callback):
    def on_train_epoch_start(self, trainer, module):
        if trainer.current_epoch == 3 and trainer.global_rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)


def train(out, is_killed=False):
    """Prints how it ended."""
    lightning.seed_everything(1, verbose=False)
    data = torch.randn(64, 8, generator=torch.Generator().manual_seed(1))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=4)
    saves = ModelCheckpoint(dirpath=out, filename="{epoch}", monitor="loss", save_top_k=2,
                            save_last=True)
    trainer = lightning.Trainer(
        max_epochs=EPOCHS, accelerator="cpu", devices=2, strategy="ddp", logger=False,
        enable_progress_bar=False, enable_model_summary=False, plugins=[RobustCheckpointIO()],
        callbacks=[saves] + ([Killer()] if is_killed else []))
    last = f"{out}/last.ckpt" if os.path.isdir(f"{out}/last.ckpt") else None
    model = Model()
    trainer.fit(model, loader, ckpt_path=last)
    if trainer.global_rank == 0:
        weights = hashlib.sha256(model.layer.weight.detach().numpy().tobytes()).hexdigest()
        print(f"resumed from {last}, epoch {trainer.current_epoch}, weights {weights}", flush=True)


def main():
    train("out", is_killed=os.environ["TORCHELASTIC_RESTART_COUNT"] == "0")
    train("calm")


if __name__ == "__main__":
    main()
