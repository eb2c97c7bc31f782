"""A second network of a lab's machines: eth1 of each, on a bridge of its own, only for the workers'
data. Faults of this network leave robustrun's own connections alone.

Everything is unnamed and ends with the lab.
"""

from helpers.machines import run

INTERFACE = "eth1"
NET = "10.78.0"
# The queue before the bottleneck holds at most 50 ms, like a switch's, so TCP finds the rate.
BURST, LATENCY = "32kb", "50ms"


def show_own_interfaces(machine):
    """Mounts /sys with the machine's interfaces, instead of the hub's."""
    script = ("mount -t sysfs none /mnt && "
              "if mountpoint -q /sys/fs/cgroup; then mount --move /sys/fs/cgroup /mnt/fs/cgroup; fi"
              " && mount --move /mnt /sys")
    run("nsenter", "-t", machine.init, "-n", "-m", "sh", "-c", script)


class DataNetwork:
    def __init__(self, lab):
        self.lab = lab
        lab.within_hub("ip", "link", "add", "bridge1", "type", "bridge")
        lab.within_hub("ip", "link", "set", "bridge1", "up")
        for machine in lab.machines.values():
            self._attach(machine)

    def _attach(self, machine):
        cable = self.cable(machine)
        self.lab.within_hub("ip", "link", "add", cable, "type", "veth",
                            "peer", "name", INTERFACE, "netns", machine.init)
        self.lab.within_hub("ip", "link", "set", cable, "master", "bridge1", "up")
        machine.within("ip", "addr", "add", f"{self.address(machine)}/24", "dev", INTERFACE)
        machine.within("ip", "link", "set", INTERFACE, "up")
        show_own_interfaces(machine)

    @staticmethod
    def cable(machine):
        """The hub's end of the machine's cable."""
        return f"data{machine.number}"

    @staticmethod
    def address(machine):
        return f"{NET}.{machine.number}"

    def environment(self):
        """The variables of a job whose workers exchange their data over this network."""
        return {"GLOO_SOCKET_IFNAME": INTERFACE}

    def pull(self, machine):
        """Pulls the cable: the machine's interface loses its carrier."""
        self.lab.within_hub("ip", "link", "set", self.cable(machine), "down")

    def plug(self, machine):
        self.lab.within_hub("ip", "link", "set", self.cable(machine), "up")

    def take_down(self, machine):
        """Sets the interface down, as an administrator would."""
        machine.within("ip", "link", "set", INTERFACE, "down")

    def bring_up(self, machine):
        machine.within("ip", "link", "set", INTERFACE, "up")

    def drop(self, one, other, where="switch"):
        """Drops packets between two machines, both ways; no interface shows it. `where`: at the
        switch, or in the machine `one` itself, by a firewall."""
        here, there = self.address(one), self.address(other)
        if where == "switch":
            self.lab.within_hub(
                "nft", "add table bridge hole; "
                "add chain bridge hole on_way { type filter hook forward priority 0; }; "
                f"add rule bridge hole on_way ip saddr {here} ip daddr {there} drop; "
                f"add rule bridge hole on_way ip saddr {there} ip daddr {here} drop")
        else:
            one.within("nft", "add table inet hole; "
                              "add chain inet hole in { type filter hook input priority 0; }; "
                              "add chain inet hole out { type filter hook output priority 0; }; "
                              f"add rule inet hole in ip saddr {there} drop; "
                              f"add rule inet hole out ip daddr {there} drop")

    def pass_all(self, one, where="switch"):
        if where == "switch":
            self.lab.within_hub("nft", "delete table bridge hole")
        else:
            one.within("nft", "delete table inet hole")

    def slow(self, machine, rate):
        """Limits what the machine sends to `rate`, in tc's notation ("20mbit")."""
        machine.within("tc", "qdisc", "add", "dev", INTERFACE, "root", "tbf", "rate", rate,
                       "burst", BURST, "latency", LATENCY)

    def full_speed(self, machine):
        machine.within("tc", "qdisc", "del", "dev", INTERFACE, "root")
