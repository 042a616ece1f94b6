// Read a storage root with @ocfl/ocfl-fs, and write what it finds as JSON: node read_root.js DIRECTORY
const ocfl = require("@ocfl/ocfl-fs");

async function main(root) {
  const storage = await ocfl.loadStorage({ root });
  const items = {};
  for await (const item of storage) {
    await item.load();
    const { id, versions } = await item.getInventory();
    items[id] = {};
    for (const version of Object.keys(versions)) {
      items[id][version] = {};
      for (const file of await item.files(version)) {
        items[id][version][file.logicalPath] = await file.text();
      }
    }
  }
  process.stdout.write(JSON.stringify({ ocfl: storage.ocflVersion, items }));
}

main(process.argv[2]);
