"""What the figures were measured on and with."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from pathlib import Path

__all__ = ["machine", "package_versions"]


def machine() -> dict[str, object]:
    """Processor, cores, memory, system and Python."""
    model = platform.processor()
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        lines = listing.read_text(encoding="utf-8").splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_gigabytes": round(memory / 1e9, 1),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def package_versions(python: Path) -> dict[str, str]:
    """Name and version of what an environment has installed."""
    script = (
        "import importlib.metadata as m, json;"
        "print(json.dumps({d.metadata['Name'].lower(): d.version for d in m.distributions()}))"
    )
    found = subprocess.run([str(python), "-c", script], check=True, capture_output=True, text=True)
    return dict(sorted(json.loads(found.stdout).items()))
